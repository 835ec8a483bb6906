// Data seen as rows of channels, and how blocks share it out: for kernels that keep what belongs to a channel in
// registers while they go down the rows.
#pragma once

#include "core/cuda/device.h"
#include "core/graph/tensor_desc.h"

namespace ptrain::cuda {

/// The two sums of a channel.
struct alignas(8) ChannelSums {
  float first, second;
};

struct ChannelRows {
  std::int64_t rows, channels;
  int across;          // threads of a block side by side; the others are on further rows
  std::int64_t parts;  // of the rows, each with blocks of its own

  ChannelRows(const Device& device, std::int64_t rows, std::int64_t channels);
  ChannelRows(const Device& device, const TensorDesc& data)
      : ChannelRows(device, data.count() / data.shape[-1], data.shape[-1]) {}

  /// Blocks for threads that have n channels each.
  dim3 grid(int n) const {
    return dim3(static_cast<unsigned>((channels + across * n - 1) / (across * n)), static_cast<unsigned>(parts));
  }
  /// What the sums of the parts take in the workspace.
  std::size_t partial_bytes() const { return static_cast<std::size_t>(parts * channels) * sizeof(ChannelSums); }
};

}  // namespace ptrain::cuda
