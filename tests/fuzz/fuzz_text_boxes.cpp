// Fuzzes the readers of boxes around text: any bytes give boxes or an Error.
#include "core/base/errors.h"
#include "core/data/boxes/text_boxes.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (ptrain::TextBoxImage& image : ptrain::parse_text_box_list(text, "fuzz", "")) {
      ptrain::remove_unusable(image.boxes);
    }
  } catch (const ptrain::Error&) {
  }
  try {
    std::vector<ptrain::TextBox> boxes = ptrain::parse_icdar_boxes(text, "fuzz");
    ptrain::remove_unusable(boxes);
  } catch (const ptrain::Error&) {
  }
  return 0;
}
