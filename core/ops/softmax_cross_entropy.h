// Mean cross entropy of softmax(logits) against integer labels, with label smoothing, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Rows with this label count neither in the loss nor in the mean.
inline constexpr std::int32_t ignored_label = -1;

/// inputs:  logits [B, C], B of one axis or several; labels i32 [B], 0..C-1 or ignored_label; of mixed samples also
/// mixup_labels i32 [B], 0..C-1,
///          and mixup_lambda f32 [1]: the loss is mixup_lambda times that by labels, the rest that by mixup_labels; or,
///          of samples that are not mixed, class_weights f32 [C], above 0.
/// outputs: loss f32 [], the mean over the rows that count (0 when there are none); probabilities f32 [B, C].
/// With smoothing e the target t is 1 - e + e / C for the label and e / C elsewhere. With weights w a row's loss is the
/// sum of -w_c t_c log p_c, and the mean divides by the sum of the labels' weights (PyTorch's definitions,
/// torch.nn.CrossEntropyLoss).
class SoftmaxCrossEntropy final : public Op {
 public:
  enum Input { logits, labels, mixup_labels, mixup_lambda, class_weights };
  explicit SoftmaxCrossEntropy(float label_smoothing = 0);
  float label_smoothing() const { return label_smoothing_; }

  std::string_view type() const override { return "softmax_cross_entropy"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int input) const override { return input == logits; }
  /// Probabilities overwrite logits that nothing else reads.
  int inplace_input(int output) const override { return output == 1 ? logits : -1; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  float label_smoothing_;
};

struct SoftmaxCrossEntropyGradAttributes {
  float label_smoothing = 0;
  DType dtype = DType::f32;  // of dlogits
};

/// inputs: probabilities f32 [B, C]; labels i32 [B]; dloss f32 []; mixup_labels and mixup_lambda, or class_weights, or
/// none. outputs: dlogits [B, C].
class SoftmaxCrossEntropyGrad final : public OpWith<SoftmaxCrossEntropyGradAttributes> {
 public:
  enum Input { probabilities, labels, dloss, mixup_labels, mixup_lambda, class_weights };
  using OpWith::OpWith;

  std::string_view type() const override { return "softmax_cross_entropy_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::black; }
  bool amp_casts_input(int) const override { return false; }
  int inplace_input(int) const override { return probabilities; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain
