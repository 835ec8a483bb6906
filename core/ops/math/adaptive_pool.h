// Windows that divide an axis into a given number of parts, as PyTorch's adaptive pooling does.
#pragma once

#include "core/base/dtype.h"

#include <cstdint>

namespace ptrain {

/// Inputs [begin, end) of an axis.
struct AdaptiveWindow {
  std::int64_t begin, end;
};

/// The inputs of output `index` where `inputs` are divided into `outputs` windows: neighbours share an input where the
/// division has a remainder, and several read the same one where there are fewer inputs than outputs. With the two
/// counts swapped, the outputs that read input `index`.
PTRAIN_HD_INLINE AdaptiveWindow adaptive_window(std::int64_t index, std::int64_t outputs, std::int64_t inputs) {
  return {index * inputs / outputs, ((index + 1) * inputs + outputs - 1) / outputs};
}

}  // namespace ptrain
