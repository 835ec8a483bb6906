#include "core/ops/dropout.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

std::string describe(const DropoutAttributes& a) {
  return fmt::format("p={} stream={}{}", a.p, a.stream, a.unit == DropoutUnit::sample ? " of samples" : "");
}

std::vector<TensorDesc> infer_same(std::span<const TensorDesc> inputs) {
  require_count(inputs, 2, 2);
  require_floating(inputs[Dropout::x], "x");
  require_rng(inputs[Dropout::rng]);
  require(inputs[Dropout::x].shape.rank() > 0, "x: expected an axis at least");
  return {inputs[Dropout::x]};
}

}  // namespace

Dropout::Dropout(DropoutAttributes attributes) : OpWith(attributes) {
  invariant(attributes.p >= 0 && attributes.p < 1, "dropout outside [0, 1)");
}

std::string Dropout::attributes() const { return describe(attributes_); }
std::vector<TensorDesc> Dropout::infer(std::span<const TensorDesc> inputs) const { return infer_same(inputs); }

void Dropout::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(x)) return;
  builder.set_input_gradient(
      x, builder.emit(std::make_shared<DropoutGrad>(attributes_), {dy, builder.input(rng)}).front());
}

std::string DropoutGrad::attributes() const { return describe(attributes_); }
std::vector<TensorDesc> DropoutGrad::infer(std::span<const TensorDesc> inputs) const { return infer_same(inputs); }

}  // namespace ptrain
