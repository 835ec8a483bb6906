// The index of shards, built when they are opened: the place and label of each image. Images are not copied.
#pragma once

#include "core/data/dataset.h"
#include "core/data/shards/byte_source.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct ShardSample {
  std::string name;          // for messages, and to order the samples
  std::uint64_t offset = 0;  // start in its shard of the bytes to read the image from
  std::uint64_t length = 0;
  std::int32_t label = 0;  // number in the index's labels
  std::uint32_t shard = 0;
};

/// A label as written in shards, with the name of its class; empty if there is none or several.
struct ShardLabel {
  std::string text;
  std::string class_name = {};
};

class ShardIndex {
 public:
  /// Adds a sample and assigns it the number of `label`.
  void add(ShardSample sample, const ShardLabel& label);
  /// Appends another shard's samples.
  void append(ShardIndex&& other, std::uint32_t shard);

  std::vector<ShardSample> samples;
  std::vector<ShardLabel> labels;    // distinct, in the order of first occurrence
  std::vector<FileIdentity> shards;  // that were indexed, by number

 private:
  std::int32_t add_label(const ShardLabel& label);
  std::map<std::string, std::int32_t> numbers_;
};

/// A file format of shards.
struct ShardForm {
  std::string_view source;   // its data.source
  std::string_view pattern;  // of its files, for messages
  bool (*is_shard)(std::string_view name);
  bool (*is_compressed_shard)(std::string_view name);
  /// Reads the index without reading images. Throws Error with the shard's name and the byte.
  ShardIndex (*index)(const ByteSource& shard);
  /// The encoded image in a sample's bytes; null where samples are no images. Throws BadSample, its message beginning
  /// with `place`.
  std::span<const std::uint8_t> (*image_in)(std::span<const std::uint8_t> bytes, const std::string& place) = nullptr;
  bool can_split = true;  // by data.split.dev
};

/// The shards of a split below `root`. Throws Error where there are none, naming what was expected, or the first of
/// those that are compressed.
std::vector<std::filesystem::path> require_shards(const std::string& root, Split split, const ShardForm& form);

/// Reads a sample's bytes. Throws ChangedFile if the shard is not the one that was indexed, and BadSample if it cannot
/// be read.
void read_shard_sample(const std::filesystem::path& shard, const FileIdentity& indexed, const ShardSample& sample,
                       std::vector<std::uint8_t>& bytes);

/// The index of several shards, built on all threads. Throws Error as ShardForm::index does, and where a shard has no
/// samples.
ShardIndex index_shards(const std::vector<std::filesystem::path>& shards, const ShardForm& form);

}  // namespace ptrain
