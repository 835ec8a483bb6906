#include "core/cuda/channel_rows.h"

#include "core/cuda/dispatch.h"

namespace ptrain::cuda {

ChannelRows::ChannelRows(const Device& device, std::int64_t row_count, std::int64_t channel_count)
    : rows(row_count), channels(channel_count), across(1) {
  const int packed = row_pack(channels);
  while (across < 32 && across * packed < channels) across *= 2;
  const std::int64_t columns = (channels + across * packed - 1) / (across * packed);
  const std::int64_t down = block_threads / across;
  const std::int64_t wanted = std::max<std::int64_t>(1, 4 * device.multiprocessors() / columns);
  parts = std::clamp<std::int64_t>(rows / (4 * down), 1, wanted);
}

}  // namespace ptrain::cuda
