#include "core/cuda/primitives/channel_extent.h"

#include "core/cuda/primitives/dispatch.h"

namespace ptrain::cuda {

ChannelExtent channel_extent(const Device& device, std::int64_t rows, std::int64_t channels) {
  const int packed = row_pack(channels);
  int across = 1;
  while (across < 32 && across * packed < channels) across *= 2;
  const std::int64_t columns = (channels + across * packed - 1) / (across * packed);
  const std::int64_t down = block_threads / across;
  const std::int64_t wanted = std::max<std::int64_t>(1, 4 * device.multiprocessors() / columns);
  return {rows, channels, across, std::clamp<std::int64_t>(rows / (4 * down), 1, wanted)};
}

ChannelExtent channel_extent(const Device& device, const TensorDesc& data) {
  return channel_extent(device, data.count() / data.shape[-1], data.shape[-1]);
}

}  // namespace ptrain::cuda
