#include "core/ops/tensor/slice.h"

#include "core/ops/tensor/axis.h"

#include <array>

namespace ptrain {

SliceExtent slice_extent(const SliceAttributes& attributes, const Shape& shape) {
  const int axis = resolve_axis(attributes.axis, shape.rank());
  const std::int64_t inner = count_elements(shape, axis + 1, shape.rank());
  return {count_elements(shape, 0, axis), shape[axis] * inner, attributes.begin * inner,
          (attributes.end - attributes.begin) * inner};
}

std::string Slice::attributes() const {
  return fmt::format("axis={} begin={} end={}", attrs().axis, attrs().begin, attrs().end);
}

std::vector<TensorDesc> Slice::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  const Shape& shape = inputs[0].shape;
  const int axis = resolve_axis(attrs().axis, shape.rank());
  require(attrs().begin >= 0 && attrs().begin < attrs().end && attrs().end <= shape[axis],
          "[{}, {}) is not within an axis of {}", attrs().begin, attrs().end, shape[axis]);
  return {{inputs[0].dtype, with_axes(shape, axis, axis + 1, std::array{attrs().end - attrs().begin})}};
}

void Slice::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  const std::int64_t extent = builder.desc(builder.input(0)).shape[attrs().axis];
  builder.set_input_gradient(0, builder.emit(std::make_shared<SliceGrad>(attrs(), extent), {dy}).front());
}

std::string SliceGrad::attributes() const {
  return fmt::format("axis={} begin={} end={} extent={}", attrs().axis, attrs().begin, attrs().end, extent_);
}

std::vector<TensorDesc> SliceGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "dy");
  const Shape& shape = inputs[0].shape;
  const int axis = resolve_axis(attrs().axis, shape.rank());
  require(shape[axis] == attrs().end - attrs().begin && attrs().begin >= 0 && attrs().end <= extent_,
          "dy {} is not [{}, {}) of an axis of {}", inputs[0].to_string(), attrs().begin, attrs().end, extent_);
  return {{inputs[0].dtype, with_axes(shape, axis, axis + 1, std::array{extent_})}};
}

void SliceGrad::gradient(GradientBuilder& builder) const {
  const ValueId gradient = builder.output_gradient(0);
  if (gradient == no_value || !builder.needs_gradient(0)) return;
  builder.set_input_gradient(0, builder.emit(std::make_shared<Slice>(attrs()), {gradient}).front());
}

}  // namespace ptrain
