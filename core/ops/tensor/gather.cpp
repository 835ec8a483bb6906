#include "core/ops/tensor/gather.h"

#include "core/ops/tensor/axis.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

std::string format_attributes(const GatherAttributes& attributes) {
  return fmt::format("axis={} batch_axes={}", attributes.axis, attributes.batch_axes);
}

/// Checks a tensor and indices that begin with the same batch axes. Returns the axis.
int require_batches(const GatherAttributes& attributes, const Shape& shape, int rank, const TensorDesc& indices) {
  require(indices.dtype == DType::i32, "indices: expected i32, got {}", indices.to_string());
  const int axis = resolve_axis(attributes.axis, rank), batch_axes = attributes.batch_axes;
  require(batch_axes >= 0 && batch_axes <= axis && batch_axes <= indices.shape.rank() && batch_axes <= shape.rank(),
          "{} batch axes before axis {}, with indices {}", batch_axes, axis, indices.to_string());
  for (int i = 0; i < batch_axes; ++i) {
    require(shape[i] == indices.shape[i], "indices {} do not fit {}", indices.to_string(), shape.to_string());
  }
  return axis;
}

std::span<const std::int64_t> picked_axes(const GatherAttributes& attributes, const Shape& indices) {
  return std::span(indices.dims()).subspan(static_cast<std::size_t>(attributes.batch_axes));
}

}  // namespace

GatherExtent gather_extent(const GatherAttributes& attributes, const Shape& x, const Shape& indices) {
  const int axis = resolve_axis(attributes.axis, x.rank()), batch_axes = attributes.batch_axes;
  return {count_elements(x, 0, batch_axes), count_elements(x, batch_axes, axis), x[axis],
          count_elements(x, axis + 1, x.rank()), count_elements(indices, batch_axes, indices.rank())};
}

std::string Gather::attributes() const { return format_attributes(attrs()); }

std::vector<TensorDesc> Gather::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  const Shape& shape = inputs[x].shape;
  const int axis = require_batches(attrs(), shape, shape.rank(), inputs[indices]);
  return {{inputs[x].dtype, with_axes(shape, axis, axis + 1, picked_axes(attrs(), inputs[indices].shape))}};
}

void Gather::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(x)) return;
  const Shape& shape = builder.desc(builder.input(x)).shape;
  const int axis = resolve_axis(attrs().axis, shape.rank());
  const auto op = std::make_shared<ScatterAdd>(GatherAttributes{axis, attrs().batch_axes}, shape[axis]);
  builder.set_input_gradient(x, builder.emit(op, {dy, builder.input(indices)}).front());
}

std::string ScatterAdd::attributes() const { return fmt::format("{} extent={}", format_attributes(attrs()), extent_); }

std::vector<TensorDesc> ScatterAdd::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_floating(inputs[rows], "rows");
  const Shape& shape = inputs[rows].shape;
  const int picked = inputs[indices].shape.rank() - attrs().batch_axes;
  const int axis = require_batches(attrs(), shape, shape.rank() - picked + 1, inputs[indices]);
  const auto expected = picked_axes(attrs(), inputs[indices].shape);
  require(std::equal(expected.begin(), expected.end(), shape.dims().begin() + axis), "indices {} do not fit rows {}",
          inputs[indices].to_string(), shape.to_string());
  return {{inputs[rows].dtype, with_axes(shape, axis, axis + picked, std::array{extent_})}};
}

void ScatterAdd::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(rows)) return;
  const int axis = resolve_axis(attrs().axis, builder.desc(dy).shape.rank());
  const auto op = std::make_shared<Gather>(GatherAttributes{axis, attrs().batch_axes});
  builder.set_input_gradient(rows, builder.emit(op, {dy, builder.input(indices)}).front());
}

Cost ScatterAdd::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[rows].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
