// NumPy's rule for shapes that differ: axes are counted from the last, and one of 1, or missing, is repeated.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/strided_index.h"

namespace ptrain {

/// The shape that all of `shapes` are broadcast to. Throws std::invalid_argument when there is none.
Shape broadcast_shape(std::span<const Shape> shapes);

/// Where the elements of `operand` lie for those of `result`, to which it is broadcast.
StridedIndex broadcast_index(const Shape& operand, const Shape& result);

/// `value` summed over the axes along which a tensor of `shape` is broadcast to it: an operand's gradient. `shape` is a
/// copy, since nodes that are added move descriptors.
ValueId sum_to(GradientBuilder& builder, ValueId value, Shape shape);

}  // namespace ptrain
