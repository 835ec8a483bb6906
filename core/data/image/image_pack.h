// Decoded images of one split in one memory-mapped file: readers need not decode, and the system's page cache keeps
// what fits. The file, little-endian: "ptrainP1", the pixels of all images one after another (RGB8, rows without gaps),
// JSON {"schema": "ptrain.pack/1", "classes": [names], "pair": text}, an index of {u32 width, u32 height, i32 label}
// per image, and a trailer {u64 bytes of JSON, u64 images, u64 CRC-32 of JSON and index, "ptrainP1"}. "pair" is the
// same in the packs of both splits that were written together; packs of earlier versions lack it.
#pragma once

#include "core/data/dataset.h"
#include "core/io/atomic_file.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

struct PackedImage {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::int32_t label = 0;
};

/// The file of a split in a folder of packs: "train.pack" or "val.pack".
std::string pack_name(Split split);

/// Writes a pack; the file appears, complete, with commit(). Throws Error naming it.
class ImagePackWriter {
 public:
  ImagePackWriter(const std::filesystem::path& path, std::vector<std::string> class_names);
  /// `pixels`: width x height x 3 bytes.
  void add(const PackedImage& image, std::span<const std::uint8_t> pixels);
  /// CRC-32 of everything that was added.
  std::uint32_t checksum() const { return checksum_; }
  /// Writes the rest, to disk. Nothing can be added then. `pair` is the same for packs that belong together.
  void finish(const std::string& pair);
  /// Replaces the file, in an instant: packs that belong together are finished first, and then committed.
  void commit();

  const std::filesystem::path& path() const { return file_.path(); }
  /// Size of the file so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  void write(std::span<const std::byte> bytes);

  AtomicFile file_;
  std::vector<std::string> class_names_;
  std::vector<PackedImage> index_;
  std::uint64_t bytes_ = 0;
  std::uint32_t checksum_ = 0;
};

/// The contents of a pack. The pixels are not copied.
struct ImagePack {
  std::vector<std::string> class_names;
  std::string pair;  // empty: an earlier version wrote it
  std::vector<PackedImage> index;
  std::vector<const std::uint8_t*> pixels;  // one per image
};

/// Throws Error, its message beginning with `name`, unless the bytes are a complete and valid pack.
ImagePack parse_image_pack(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ptrain
