// Conversion between floating dtypes on the device.
#pragma once

#include "core/base/dtype.h"
#include "core/cuda/device/device.h"

#include <cstdint>

namespace ptrain::cuda {

/// Enqueues to[i] = from[i], rounded. The pointers are aligned to 16 bytes.
void convert(const Device& device, DType from_dtype, const void* from, DType to_dtype, void* to, std::int64_t count);

}  // namespace ptrain::cuda
