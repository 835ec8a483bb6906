#include "core/ops/tensor/batched_matmul.h"

#include "core/ops/tensor/axis.h"

namespace ptrain {
namespace {

Orientation flip(Orientation orientation) {
  return orientation == Orientation::plain ? Orientation::transposed : Orientation::plain;
}

}  // namespace

BatchedMatmulExtent batched_matmul_extent(const BatchedMatmulAttributes& attributes, const Shape& a, const Shape& b) {
  const bool a_plain = attributes.a == Orientation::plain, b_plain = attributes.b == Orientation::plain;
  return {count_elements(a, 0, a.rank() - 2), a[a_plain ? -2 : -1], a[a_plain ? -1 : -2], b[b_plain ? -1 : -2]};
}

std::string BatchedMatmul::attributes() const {
  return fmt::format("transpose_a={} transpose_b={}", attrs().a == Orientation::transposed,
                     attrs().b == Orientation::transposed);
}

std::vector<TensorDesc> BatchedMatmul::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[a], "a");
  const Shape &left = inputs[a].shape, &right = inputs[b].shape;
  require(left.rank() >= 2 && right.rank() == left.rank() &&
              leading_shape(leading_shape(left)) == leading_shape(leading_shape(right)),
          "{} and {} are not matrices with the same batch axes", inputs[a].to_string(), inputs[b].to_string());
  const BatchedMatmulExtent extent = batched_matmul_extent(attrs(), left, right);
  const std::int64_t inner = right[attrs().b == Orientation::plain ? -2 : -1];
  require(inputs[b].dtype == inputs[a].dtype && inner == extent.inner, "b {} does not fit a {} ({})",
          inputs[b].to_string(), inputs[a].to_string(), attributes());
  return {{inputs[a].dtype, with_axes(left, left.rank() - 2, left.rank(), std::array{extent.rows, extent.columns})}};
}

void BatchedMatmul::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  const auto multiply = [&](ValueId left, Orientation left_lies, ValueId right, Orientation right_lies) {
    const BatchedMatmulAttributes attributes{left_lies, right_lies};
    return builder.emit(std::make_shared<BatchedMatmul>(attributes), {left, right}).front();
  };
  const ValueId left = builder.input(a), right = builder.input(b);
  if (builder.needs_gradient(a)) {  // dy b^T, or its transpose
    builder.set_input_gradient(a, attrs().a == Orientation::plain
                                      ? multiply(dy, Orientation::plain, right, flip(attrs().b))
                                      : multiply(right, attrs().b, dy, Orientation::transposed));
  }
  if (builder.needs_gradient(b)) {  // a^T dy, or its transpose
    builder.set_input_gradient(b, attrs().b == Orientation::plain
                                      ? multiply(left, flip(attrs().a), dy, Orientation::plain)
                                      : multiply(dy, Orientation::transposed, left, attrs().a));
  }
}

Cost BatchedMatmul::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const BatchedMatmulExtent extent = batched_matmul_extent(attrs(), inputs[a].shape, inputs[b].shape);
  return {2.0 * static_cast<double>(extent.inner) * static_cast<double>(outputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
