#include "core/ops/elementwise.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

Cost one_per_element(std::span<const TensorDesc> outputs, double bytes) {
  return {static_cast<double>(outputs[0].count()), bytes};
}

}  // namespace

std::vector<TensorDesc> Add::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[a], "a");
  require_desc(inputs[b], inputs[a], "b");
  return {inputs[a]};
}

void Add::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  for (int i = 0; i < 2; ++i) {
    if (builder.needs_gradient(i)) builder.set_input_gradient(i, dy);
  }
}

Cost Add::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return one_per_element(outputs, traffic(inputs, outputs));
}

std::string Scale::attributes() const { return fmt::format("factor={}", factor_); }

std::vector<TensorDesc> Scale::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "x");
  return {inputs[0]};
}

void Scale::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  builder.set_input_gradient(0, builder.emit(std::make_shared<Scale>(factor_), {dy}).front());
}

Cost Scale::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return one_per_element(outputs, traffic(inputs, outputs));
}

std::string Cast::attributes() const { return fmt::format("dtype={}", to_string(dtype_)); }

std::vector<TensorDesc> Cast::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "x");
  require(is_floating(dtype_), "cast to {}: expected a floating dtype", to_string(dtype_));
  return {{dtype_, inputs[0].shape}};
}

void Cast::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  const DType dtype = builder.desc(builder.input(0)).dtype;
  builder.set_input_gradient(0, builder.emit(std::make_shared<Cast>(dtype), {dy}).front());
}

}  // namespace ptrain
