// Binary cross entropy of one logit per row against a label of 0 or 1, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// inputs:  logits [B, 1]; labels i32 [B], 0, 1 or ignored_label (softmax_cross_entropy.h).
/// outputs: loss f32 [], the mean of -t log s(z) - (1 - t) log(1 - s(z)) over the rows that count, 0 when there are
/// none,
///          where s is the logistic function (PyTorch's torch.nn.BCEWithLogitsLoss). With smoothing e the target t is
///          1 - e / 2 for label 1 and e / 2 for label 0, as in SoftmaxCrossEntropy of two classes.
class BinaryCrossEntropy final : public Op {
 public:
  enum Input { logits, labels };
  explicit BinaryCrossEntropy(float label_smoothing = 0) : label_smoothing_(label_smoothing) {}
  float label_smoothing() const { return label_smoothing_; }

  std::string_view type() const override { return "binary_cross_entropy"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == logits; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  float label_smoothing_;
};

/// inputs: logits [B, 1]; labels i32 [B]; dloss f32 [].  outputs: dlogits, as the logits.
class BinaryCrossEntropyGrad final : public Op {
 public:
  enum Input { logits, labels, dloss };
  explicit BinaryCrossEntropyGrad(float label_smoothing) : label_smoothing_(label_smoothing) {}
  float label_smoothing() const { return label_smoothing_; }

  std::string_view type() const override { return "binary_cross_entropy_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  float label_smoothing_;
};

}  // namespace ptrain
