// Any bytes as an image pack: parse_image_pack refuses them with an Error or returns images that lie within them.
#include "core/base/errors.h"
#include "core/data/image/image_pack.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const ptrain::ImagePack pack = ptrain::parse_image_pack(std::as_bytes(std::span(data, size)), "fuzz");
    for (std::size_t i = 0; i < pack.index.size(); ++i) {
      const std::size_t bytes = std::size_t{3} * pack.index[i].width * pack.index[i].height;
      if (pack.pixels[i] < data || pack.pixels[i] + bytes > data + size) abort();
    }
  } catch (const ptrain::Error&) {
    // what every malformed file must end in
  }
  return 0;
}
