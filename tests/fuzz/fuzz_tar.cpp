// Any bytes as a WebDataset shard, as they are and with a checksum put right in every block, past which few mutations
// would come: index_web_dataset refuses them with an Error or finds images that lie within them.
#include "core/base/errors.h"
#include "core/data/shards/web_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace {

void index(std::span<const std::uint8_t> bytes) {
  try {
    for (const ptrain::ShardSample& sample : ptrain::index_web_dataset(ptrain::MemoryBytes(bytes, "fuzz")).samples) {
      if (sample.offset > bytes.size() || sample.length > bytes.size() - sample.offset) abort();
    }
  } catch (const ptrain::Error&) {
    // what every malformed file must end in
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  index({data, size});
  std::vector<std::uint8_t> sound(data, data + size);
  for (auto block = sound.begin(); sound.end() - block >= 512; block += 512) {
    if (std::all_of(block, block + 512, [](std::uint8_t byte) { return byte == 0; })) continue;
    std::fill(block + 148, block + 156, ' ');
    const std::string sum = fmt::format("{:06o}", std::accumulate(block, block + 512, 0u));
    std::copy(sum.begin(), sum.end(), block + 148);
    block[154] = 0;
  }
  index(sound);
  return 0;
}
