#include "core/data/image/image_pack.h"

#include "core/base/errors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace ptrain {
namespace {

constexpr char magic[8] = {'p', 't', 'r', 'a', 'i', 'n', 'P', '1'};
constexpr const char* schema = "ptrain.pack/1";
constexpr std::uint32_t longest_packed_side = 65535;

struct Trailer {
  std::uint64_t json_bytes;
  std::uint64_t images;
  std::uint64_t checksum;
  char magic[8];
};
static_assert(sizeof(Trailer) == 32 && sizeof(PackedImage) == 12);

std::uint64_t pixel_bytes(const PackedImage& image) { return std::uint64_t{3} * image.width * image.height; }

/// Sets the names of classes and the pair.
void parse_header(std::string_view json, const std::string& name, ImagePack& pack) {
  const auto header = nlohmann::json::parse(json, nullptr, false);
  if (!header.is_object() || !header.contains("schema") || header["schema"] != schema || !header.contains("classes")) {
    fail("{}: its header is not one of {}", name, schema);
  }
  const nlohmann::json& classes = header["classes"];
  const auto is_name = [](const nlohmann::json& value) { return value.is_string(); };
  if (!classes.is_array() || classes.empty() || !std::all_of(classes.begin(), classes.end(), is_name)) {
    fail("{}: its header lists no class names", name);
  }
  pack.class_names = classes.get<std::vector<std::string>>();
  if (header.contains("pair") && header["pair"].is_string()) pack.pair = header["pair"];
}

}  // namespace

std::string pack_name(Split split) { return split == Split::train ? "train.pack" : "val.pack"; }

ImagePackWriter::ImagePackWriter(const std::filesystem::path& path, std::vector<std::string> class_names)
    : file_(path), class_names_(std::move(class_names)) {
  write(std::as_bytes(std::span(magic)));
}

void ImagePackWriter::add(const PackedImage& image, std::span<const std::uint8_t> pixels) {
  invariant(pixels.size() == pixel_bytes(image), "a packed image has not width x height x 3 bytes");
  write(std::as_bytes(pixels));
  index_.push_back(image);
  checksum_ = crc32(std::as_bytes(pixels), crc32(std::as_bytes(std::span(&image, 1)), checksum_));
}

void ImagePackWriter::finish(const std::string& pair) {
  const std::string json = nlohmann::json{{"schema", schema}, {"classes", class_names_}, {"pair", pair}}.dump();
  const std::span<const std::byte> index = std::as_bytes(std::span(index_));
  Trailer trailer{json.size(), index_.size(), crc32(index, crc32(std::as_bytes(std::span(json)))), {}};
  std::memcpy(trailer.magic, magic, sizeof magic);
  write(std::as_bytes(std::span(json)));
  write(index);
  write(std::as_bytes(std::span(&trailer, 1)));
  file_.flush();
}

void ImagePackWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  bytes_ += bytes.size();
}

void ImagePackWriter::commit() { file_.commit(); }

ImagePack parse_image_pack(std::span<const std::byte> bytes, const std::string& name) {
  Trailer trailer;
  if (bytes.size() < sizeof magic + sizeof trailer || std::memcmp(bytes.data(), magic, sizeof magic) != 0) {
    fail("{}: not an image pack (ptrain data pack writes them)", name);
  }
  std::memcpy(&trailer, bytes.data() + bytes.size() - sizeof trailer, sizeof trailer);
  if (std::memcmp(trailer.magic, magic, sizeof magic) != 0) fail("{}: ends early (truncated file)", name);
  const std::uint64_t room = bytes.size() - sizeof magic - sizeof trailer;
  if (trailer.json_bytes > room || trailer.images > (room - trailer.json_bytes) / sizeof(PackedImage)) {
    fail("{}: corrupt: its trailer claims more than the file holds", name);
  }
  const std::uint64_t pixels_end = sizeof magic + room - trailer.json_bytes - trailer.images * sizeof(PackedImage);
  const std::span<const std::byte> json = bytes.subspan(pixels_end, trailer.json_bytes);
  const std::span<const std::byte> index =
      bytes.subspan(pixels_end + trailer.json_bytes, trailer.images * sizeof(PackedImage));
  if (crc32(index, crc32(json)) != trailer.checksum) fail("{}: corrupt: checksum differs", name);

  ImagePack pack;
  parse_header({reinterpret_cast<const char*>(json.data()), json.size()}, name, pack);
  if (trailer.images == 0) fail("{}: has no images", name);
  pack.index.resize(trailer.images);
  std::memcpy(pack.index.data(), index.data(), index.size());
  std::uint64_t position = sizeof magic;
  for (const PackedImage& image : pack.index) {
    const bool sized = image.width > 0 && image.height > 0 && image.width <= longest_packed_side &&
                       image.height <= longest_packed_side && pixel_bytes(image) <= pixels_end - position;
    if (!sized) fail("{}: corrupt: image {} is {} x {} px", name, pack.pixels.size(), image.width, image.height);
    if (image.label < 0 || static_cast<std::size_t>(image.label) >= pack.class_names.size()) {
      fail("{}: label {} of image {} is out of range for {} classes", name, image.label, pack.pixels.size(),
           pack.class_names.size());
    }
    pack.pixels.push_back(reinterpret_cast<const std::uint8_t*>(bytes.data()) + position);
    position += pixel_bytes(image);
  }
  if (position != pixels_end) fail("{}: corrupt: {} bytes belong to no image", name, pixels_end - position);
  return pack;
}

}  // namespace ptrain
