// NumPy's broadcasting rule: axes are aligned at the last, and an axis of 1, or a missing one, is repeated.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/strided_index.h"

namespace ptrain {

/// The shape that all of `shapes` are broadcast to. Throws std::invalid_argument when there is none.
Shape broadcast_shape(std::span<const Shape> shapes);

/// Offsets in `operand` of the elements of `result`, to which it is broadcast.
StridedIndex broadcast_index(const Shape& operand, const Shape& result);

/// Sums `value` over the axes along which a tensor of `shape` was broadcast to it: an operand's gradient. `shape` is a
/// copy, since adding nodes moves descriptors.
ValueId sum_to(GradientBuilder& builder, ValueId value, Shape shape);

}  // namespace ptrain
