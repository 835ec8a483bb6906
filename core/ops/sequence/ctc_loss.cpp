#include "core/ops/sequence/ctc_loss.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

/// Checks logits and labels.
void require_texts(std::span<const TensorDesc> inputs, std::int32_t blank) {
  const TensorDesc& logits = inputs[CtcLoss::logits];
  const TensorDesc& labels = inputs[CtcLoss::labels];
  require_floating(logits, "logits");
  require(logits.shape.rank() == 3, "logits: expected [N,T,C], got {}", logits.to_string());
  require(blank >= 0 && blank < logits.shape[2], "blank: expected a class below {}, got {}", logits.shape[2], blank);
  require(labels.dtype == DType::i32 && labels.shape.rank() == 2 && labels.shape[0] == logits.shape[0],
          "labels: expected i32 [{},L], got {}", logits.shape[0], labels.to_string());
}

TensorDesc describe_alphas(const Shape& logits, const Shape& labels) {
  return {DType::f32, Shape{logits[0], logits[1], 2 * labels[1] + 1}};
}

/// Each class of each step costs an exponential; each position of a label, one more than its classes.
double count_flops(const TensorDesc& logits, const TensorDesc& alphas) {
  constexpr double of_class = 12, of_position = 60;
  return of_class * static_cast<double>(logits.count()) + of_position * static_cast<double>(alphas.count());
}

}  // namespace

std::string CtcLoss::attributes() const { return fmt::format("blank={}", attributes_.blank); }

std::vector<TensorDesc> CtcLoss::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_texts(inputs, attributes_.blank);
  const Shape& shape = inputs[logits].shape;
  return {{DType::f32, Shape{}},
          {DType::f32, Shape{shape[0]}},
          {DType::f32, Shape{shape[0], shape[1]}},
          describe_alphas(shape, inputs[labels].shape)};
}

void CtcLoss::gradient(GradientBuilder& builder) const {
  const ValueId of_loss = builder.output_gradient(loss);
  if (of_loss == no_value || !builder.needs_gradient(logits)) return;
  const std::vector<ValueId> inputs{builder.input(logits),       builder.input(labels),  builder.output(sample_losses),
                                    builder.output(normalizers), builder.output(alphas), of_loss};
  builder.set_input_gradient(logits, builder.emit(std::make_shared<CtcLossGrad>(attributes_), inputs).front());
}

Cost CtcLoss::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_flops(inputs[logits], outputs[alphas]), traffic(inputs, outputs)};
}

std::vector<TensorDesc> CtcLossGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 6, 6);
  require_texts(inputs, attributes_.blank);
  const Shape& shape = inputs[logits].shape;
  require_desc(inputs[sample_losses], {DType::f32, Shape{shape[0]}}, "sample_losses");
  require_desc(inputs[normalizers], {DType::f32, Shape{shape[0], shape[1]}}, "normalizers");
  require_desc(inputs[alphas], describe_alphas(shape, inputs[labels].shape), "alphas");
  require_desc(inputs[dloss], {DType::f32, Shape{}}, "dloss");
  return {inputs[logits]};
}

Cost CtcLossGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_flops(inputs[logits], inputs[alphas]), traffic(inputs, outputs)};
}

}  // namespace ptrain
