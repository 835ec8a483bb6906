#include "core/ops/tensor/reduce.h"

#include "core/ops/elementwise.h"
#include "core/ops/math/strided_index.h"
#include "core/ops/require.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/select.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ptrain {
namespace {

/// Shares dy among the elements of x that equal the maximum y; dy and y have 1 in place of the axes.
ValueId share_among_maxima(GradientBuilder& builder, const ReduceAttributes& attributes, ValueId x, ValueId y,
                           ValueId dy) {
  const auto emit = [&](OpPtr op, std::vector<ValueId> inputs) {
    return builder.emit(std::move(op), std::move(inputs)).front();
  };
  const DType dtype = builder.desc(x).dtype;
  const ValueId largest = emit(std::make_shared<Compare>(CompareAttributes{Comparison::equal}), {x, y});
  const ValueId ones = emit(std::make_shared<Where>(WhereAttributes{1, 0, dtype}), {largest, no_value, no_value});
  const ValueId count =
      emit(std::make_shared<Reduce>(ReduceAttributes{ReduceKind::sum, attributes.axes, KeepDims::yes}), {ones});
  const ValueId part = emit(std::make_shared<Binary>(BinaryFunction::div), {dy, count});
  return emit(std::make_shared<Where>(WhereAttributes{}), {largest, part, no_value});
}

}  // namespace

std::vector<bool> reduced_axes(const ReduceAttributes& attributes, int rank) {
  std::vector<bool> reduced(static_cast<std::size_t>(rank), attributes.axes.empty());
  for (const int axis : attributes.axes) {
    require(axis >= -rank && axis < rank, "there is no axis {} of {}", axis, rank);
    reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  return reduced;
}

std::string_view Reduce::type() const {
  switch (attrs().kind) {
    case ReduceKind::sum:
      return "reduce_sum";
    case ReduceKind::mean:
      return "reduce_mean";
    case ReduceKind::max:
      break;
  }
  return "reduce_max";
}

std::string Reduce::attributes() const {
  return fmt::format("axes={} keep_dims={}", fmt::join(attrs().axes, ","), attrs().keep_dims == KeepDims::yes);
}

/// Sums are black, as Paddle's sum and mean are.
AmpClass Reduce::amp_class() const { return attrs().kind == ReduceKind::max ? AmpClass::grey : attrs().sums; }

Shape Reduce::kept_shape(const Shape& shape) const {
  std::vector<std::int64_t> dims = shape.dims();
  const std::vector<bool> reduced = reduced_axes(attrs(), shape.rank());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (reduced[axis]) dims[axis] = 1;
  }
  return Shape(std::move(dims));
}

std::vector<TensorDesc> Reduce::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "x");
  const int rank = inputs[0].shape.rank();
  require(rank <= StridedIndex::most_axes, "x: expected at most {} axes, got {}", StridedIndex::most_axes,
          inputs[0].to_string());
  require(inputs[0].count() > 0, "x: expected elements, got {}", inputs[0].to_string());
  if (attrs().keep_dims == KeepDims::yes) return {{inputs[0].dtype, kept_shape(inputs[0].shape)}};
  const std::vector<bool> reduced = reduced_axes(attrs(), rank);
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) {
    if (!reduced[static_cast<std::size_t>(axis)]) dims.push_back(inputs[0].shape[axis]);
  }
  return {{inputs[0].dtype, Shape(std::move(dims))}};
}

void Reduce::gradient(GradientBuilder& builder) const {
  ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  const ValueId x = builder.input(0);
  const Shape shape = builder.desc(x).shape, kept = kept_shape(shape);
  const auto with_kept_axes = [&](ValueId value) {
    if (builder.desc(value).shape == kept) return value;
    return builder.emit(std::make_shared<Reshape>(kept), {value}).front();
  };
  dy = with_kept_axes(dy);
  if (attrs().kind == ReduceKind::max) {
    builder.set_input_gradient(0, share_among_maxima(builder, attrs(), x, with_kept_axes(builder.output(0)), dy));
    return;
  }
  if (attrs().kind == ReduceKind::mean) {
    const auto share = static_cast<float>(static_cast<double>(kept.count()) / static_cast<double>(shape.count()));
    dy = builder.emit(std::make_shared<Scale>(share), {dy}).front();
  }
  builder.set_input_gradient(0, builder.emit(std::make_shared<Expand>(shape), {dy}).front());
}

Cost Reduce::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
