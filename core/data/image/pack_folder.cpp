#include "core/data/image/pack_folder.h"

#include "core/base/parallel.h"
#include "core/data/file_bytes.h"
#include "core/data/image/image_list.h"
#include "core/data/image/image_pack.h"
#include "core/data/image/image_transform.h"

namespace ptrain {
namespace {

struct Decoded {
  PackedImage image;
  std::vector<std::uint8_t> pixels;
  std::string error;  // empty: decoded
};

int scaled(int side, int short_side, int target) {
  return static_cast<int>((std::int64_t{side} * target + short_side / 2) / short_side);
}

void decode(const ImageList& list, const ImageList::File& file, int short_side, Scratch& scratch, Decoded& out) {
  const std::filesystem::path path = list.full_path(file);
  out.error.clear();
  try {
    read_file(path, scratch.file);
    const DecodedImage whole = decode_image(scratch.file, path.string(), scratch.pixels);
    const int shorter = std::min(whole.width, whole.height);
    const int target = short_side > 0 ? std::min(short_side, shorter) : shorter;
    const int width = scaled(whole.width, shorter, target), height = scaled(whole.height, shorter, target);
    out.image = {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), file.label};
    out.pixels.resize(std::size_t{3} * out.image.width * out.image.height);
    resize_bilinear(whole.view, {whole.width, width, 0, width}, {whole.height, height, 0, height}, Mirror::no, scratch,
                    out.pixels.data());
  } catch (const Error& error) {
    out.error = error.what();
  }
}

}  // namespace

PackResult pack_folder(const std::filesystem::path& root, Split split, const std::filesystem::path& file,
                       const PackOptions& options, const PackProgress& progress) {
  const ImageList list = list_images(root, split);
  const auto total = static_cast<std::int64_t>(list.files.size());
  PackResult result{.file = ImagePackWriter(file, list.class_names), .notes = list.notes};
  const std::int64_t block = 16 * thread_count();  // images in memory at once
  std::vector<Decoded> decoded(static_cast<std::size_t>(block));
  for (std::int64_t first = 0; first < total; first += block) {
    const std::int64_t count = std::min(block, total - first);
    parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch;
      for (std::int64_t i = begin; i < end; ++i) {
        decode(list, list.files[static_cast<std::size_t>(first + i)], options.short_side, scratch,
               decoded[static_cast<std::size_t>(i)]);
      }
    });
    for (std::int64_t i = 0; i < count; ++i) {
      const Decoded& one = decoded[static_cast<std::size_t>(i)];
      if (one.error.empty()) {
        result.file.add(one.image, one.pixels);
        ++result.images;
        continue;
      }
      result.left_out.push_back(one.error);
      if (static_cast<std::int64_t>(result.left_out.size()) > options.max_bad_samples) {
        fail("{} (more than {} bad samples)", one.error, options.max_bad_samples);
      }
    }
    progress(first + count, total);
  }
  if (result.images == 0) fail("{}: none of its {} images can be decoded", list.directory.string(), total);
  return result;
}

}  // namespace ptrain
