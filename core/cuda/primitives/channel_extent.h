// Divides [rows,channels] data among thread blocks for kernels that keep per-channel values.
#pragma once

#include "core/cuda/device/device.h"
#include "core/graph/tensor_desc.h"

#include <cstddef>
#include <cstdint>

namespace ptrain::cuda {

/// The two sums of a channel.
struct alignas(8) ChannelSums {
  float first, second;
};

struct ChannelExtent {
  std::int64_t rows, channels;
  int across;          // adjacent threads of a block, n channels each; the others are on further rows
  std::int64_t parts;  // of the rows

  dim3 grid(int n) const {
    return dim3(static_cast<unsigned>((channels + across * n - 1) / (across * n)), static_cast<unsigned>(parts));
  }
  /// Workspace bytes for the sums of the parts.
  std::size_t partial_bytes() const { return static_cast<std::size_t>(parts * channels) * sizeof(ChannelSums); }
};

/// Enough blocks to fill the device, each with enough rows to be worthwhile.
ChannelExtent channel_extent(const Device& device, std::int64_t rows, std::int64_t channels);
/// For data [...,C].
ChannelExtent channel_extent(const Device& device, const TensorDesc& data);

}  // namespace ptrain::cuda
