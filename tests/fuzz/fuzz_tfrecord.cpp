// Any bytes as a TFRecord file, and as an Example in a record, which the checksums would keep from being reached: both
// are refused with an Error or hold images that lie within them.
#include "core/base/errors.h"
#include "core/data/shards/tf_example.h"
#include "core/data/shards/tf_record.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ptrain::MemoryBytes bytes({data, size}, "fuzz");
  try {
    for (const ptrain::ShardSample& sample : ptrain::index_tf_records(bytes).samples) {
      if (sample.offset > size || sample.length > size - sample.offset) abort();
      ptrain::image_in_tf_record(std::span(data, size).subspan(sample.offset, sample.length), "fuzz");
    }
  } catch (const ptrain::Error&) {
  }
  try {
    const ptrain::ImageExample example = ptrain::parse_image_example(bytes, {0, size}, "fuzz");
    if (example.image.begin > example.image.end || example.image.end > size) abort();
  } catch (const ptrain::Error&) {
  }
  return 0;
}
