// The sum of every CPU transport: in rank order and fp32, so that its bits depend on nothing else.
#pragma once

#include "core/base/dtype.h"

#include <cstdint>
#include <span>

namespace ptrain {

/// For i below `count`: every destination[i] = factor * (sources[0][i] + sources[1][i] + ...). Destinations may be
/// sources.
void reduce_in_order(std::span<const void* const> sources, std::span<void* const> destinations, std::int64_t count,
                     DType dtype, float factor);

}  // namespace ptrain
