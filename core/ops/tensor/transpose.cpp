#include "core/ops/tensor/transpose.h"

#include "core/ops/tensor/axis.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace ptrain {

StridedIndex transposed_index(const Shape& shape, std::span<const int> order) {
  StridedIndex index;
  for (const int axis : order) index.add(shape[axis], count_elements(shape, axis + 1, shape.rank()));
  return index;
}

std::string Transpose::attributes() const { return fmt::format("order={}", fmt::join(order_, ",")); }

std::vector<TensorDesc> Transpose::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  const Shape& shape = inputs[0].shape;
  std::vector<int> axes(static_cast<std::size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  require(std::is_permutation(order_.begin(), order_.end(), axes.begin(), axes.end()),
          "{} is not a permutation of the axes of {}", attributes(), inputs[0].to_string());
  require(shape.rank() <= StridedIndex::most_axes, "expected at most {} axes, got {}", StridedIndex::most_axes,
          inputs[0].to_string());
  std::vector<std::int64_t> dims;
  for (const int axis : order_) dims.push_back(shape[axis]);
  return {{inputs[0].dtype, Shape(std::move(dims))}};
}

void Transpose::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(0)) return;
  std::vector<int> back(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) back[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
  builder.set_input_gradient(0, builder.emit(std::make_shared<Transpose>(std::move(back)), {dy}).front());
}

}  // namespace ptrain
