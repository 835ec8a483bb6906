// Connectionist temporal classification (Graves et al. 2006): the loss of texts whose characters are at unknown steps
// of a sequence, and its gradient.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct CtcLossAttributes {
  std::int32_t blank = 0;  // the class of steps without a new character
};

/// inputs:  logits [N,T,C]; labels i32 [N,L], the classes of each text's characters, none of them the blank, and
///          ignored_label after them.
/// outputs: loss f32 [], the mean over the samples that have a label (0 when none has) of minus the logarithm of the
///          label's probability: the sum over all ways to place its characters in the T steps, equal neighbours with a
///          blank between them; what the gradient needs: sample_losses f32 [N]; normalizers f32 [N,T], logarithms of
///          the sums of exp(logits); alphas f32 [N,T,2L+1], the forward variables, in logarithms.
/// A label that does not fit into T steps, one for each character and for each blank between equal ones, counts with a
/// loss of 0 and without a gradient (torch.nn.functional.ctc_loss with zero_infinity=True; its reduction "mean" divides
/// by the labels' lengths too, which this does not). All arithmetic is fp32, whatever the logits are.
class CtcLoss final : public OpWith<CtcLossAttributes> {
 public:
  enum Input { logits, labels };
  enum Output { loss, sample_losses, normalizers, alphas };
  using OpWith::OpWith;

  std::string_view type() const override { return "ctc_loss"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs:  logits and labels, then sample_losses, normalizers and alphas, as above; dloss f32 [].
/// outputs: dlogits, as the logits.
class CtcLossGrad final : public OpWith<CtcLossAttributes> {
 public:
  enum Input { logits, labels, sample_losses, normalizers, alphas, dloss };
  using OpWith::OpWith;

  std::string_view type() const override { return "ctc_loss_grad"; }
  std::string attributes() const override { return CtcLoss(attributes_).attributes(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool amp_casts_input(int) const override { return false; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain
