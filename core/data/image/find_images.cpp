// Detects folders of images or clips that a user names, and chooses the image size.
#include "core/data/file_bytes.h"
#include "core/data/image/clip.h"
#include "core/data/image/image_list.h"
#include "core/data/image/image_transform.h"
#include "core/data/sources.h"
#include "core/data/split.h"

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// The image itself, or a clip's first frame.
fs::path find_picture(const fs::path& sample) {
  if (!fs::is_directory(sample)) return sample;
  const std::vector<std::string> frames = frames_in(sample);
  if (frames.empty()) fail("{}: has no frames ({})", sample.string(), image_files);
  return sample / frames.front();
}

/// From the median of twenty images. Throws Error where none of them can be read.
int choose_photo_size(const ImageList& list) {
  constexpr std::size_t most_read = 20;
  constexpr int largest_small = 64, default_size = 224, step = 32;
  std::vector<int> sides;
  std::vector<std::uint8_t> bytes, pixels;
  std::exception_ptr unreadable;
  const std::size_t every = std::max<std::size_t>(1, list.files.size() / most_read);
  for (std::size_t i = 0; i < list.files.size(); i += every) {
    try {
      const fs::path path = find_picture(list.full_path(list.files[i]));
      read_file(path, bytes);
      const DecodedImage image = decode_image(bytes, path.string(), pixels);
      sides.push_back(std::min(image.width, image.height));
    } catch (const Error&) {
      unreadable = std::current_exception();
    }
  }
  if (sides.empty()) std::rethrow_exception(unreadable);
  std::nth_element(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2), sides.end());
  const int side = sides[sides.size() / 2];
  return side <= largest_small ? std::max(side, 8) : std::min(default_size, side / step * step);
}

/// Whether the training split's classes have folders in them, and no images.
bool holds_clips(const fs::path& folder) {
  bool folders = false;
  for (const fs::directory_entry& name : fs::directory_iterator(find_training_folder(folder))) {
    if (!name.is_directory()) continue;
    for (const fs::directory_entry& sample : fs::directory_iterator(name.path())) {
      if (sample.is_directory()) folders = true;
      if (!sample.is_directory() && has_image_suffix(sample.path())) return false;
    }
  }
  return folders;
}

FoundData find_photos(const fs::path& path, SampleFile form) {
  if (find_training_folder(path).empty()) return std::nullopt;
  if (holds_clips(path) != (form == SampleFile::clip)) return std::nullopt;
  DataSettings settings;
  settings.path = path.string();
  settings.image_size = choose_photo_size(list_images(path, Split::train, form));
  if (find_split(path, Split::eval).empty()) settings.dev_fraction = default_dev_fraction;
  return settings;
}

}  // namespace

FoundData find_image_folder(const fs::path& path, const ColumnNames&) { return find_photos(path, SampleFile::image); }

FoundData find_clip_folder(const fs::path& path, const ColumnNames&) { return find_photos(path, SampleFile::clip); }

}  // namespace ptrain
