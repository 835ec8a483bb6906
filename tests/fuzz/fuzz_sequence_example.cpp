// Any bytes as a video's SequenceExample, which a record's checksums would keep from being reached: refused with an
// Error, or read into rows that nothing is written outside of.
#include "core/base/errors.h"
#include "core/data/dataset.h"
#include "core/data/shards/tf_example.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t frames = 3;
  const ptrain::MemoryBytes bytes({data, size}, "fuzz");
  try {
    if (ptrain::parse_video_example(bytes, {0, size}, "fuzz").id.empty()) abort();
  } catch (const ptrain::Error&) {
  }
  std::vector<float> rgb(frames * ptrain::rgb_features_per_frame), audio(frames * ptrain::audio_features_per_frame);
  try {
    if (ptrain::read_video_frames(bytes, {0, size}, "fuzz", rgb, audio) < 1) abort();
  } catch (const ptrain::Error&) {
  }
  return 0;
}
