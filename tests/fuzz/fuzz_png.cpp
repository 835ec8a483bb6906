// Fuzzes PNG decoding and resizing: any bytes give an image or a BadSample.
#include "core/data/image/image_transform.h"
#include "core/data/image/png_image.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptrain;
  if (!is_png({data, size})) return 0;
  Scratch scratch;
  std::vector<std::uint8_t> out(80 * 80 * 3);
  try {
    SampleRandom random(1, 2, static_cast<std::int64_t>(size));
    ImageTransform(80, Augmentation::none).apply_encoded({data, size}, "fuzz", random, scratch, out);
  } catch (const BadSample&) {
  }
  return 0;
}
