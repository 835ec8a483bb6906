// What shards hold, found when they are opened: where each image lies and what its label is. The images stay there.
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
  std::string name;          // for messages, and for the order of samples
  std::uint64_t offset = 0;  // in its shard, of the bytes that its image is read from
  std::uint64_t length = 0;
  std::int32_t label = 0;  // number in the index's labels
  std::uint32_t shard = 0;
};

/// A label as it is written, with the name that shards give its class beside it; empty where they give none or several.
struct ShardLabel {
  std::string text;
  std::string class_name = {};
};

class ShardIndex {
 public:
  /// Adds a sample, whose label becomes the number of `label`.
  void add(ShardSample sample, const ShardLabel& label);
  /// Adds another shard's samples.
  void append(ShardIndex&& other, std::uint32_t shard);

  std::vector<ShardSample> samples;
  std::vector<ShardLabel> labels;  // each once, in the order in which they were met

 private:
  std::int32_t add_label(const ShardLabel& label);
  std::map<std::string, std::int32_t> numbers_;
};

/// What tells one form of shards from another.
struct ShardForm {
  std::string_view source;   // data.source that reads it
  std::string_view pattern;  // of its files, for messages
  bool (*is_shard)(std::string_view name);
  /// Reads what says where images lie, and none of them. Throws Error with the shard's name and the byte.
  ShardIndex (*index)(const ByteSource& shard);
  /// The encoded image in a sample's bytes. Throws BadSample, its message opened by `place`.
  std::span<const std::uint8_t> (*image_in)(std::span<const std::uint8_t> bytes, const std::string& place);
};

/// The index of several shards, made on all threads. Throws Error as ShardForm::index does, and where a shard has no
/// samples.
ShardIndex index_shards(const std::vector<std::filesystem::path>& shards, const ShardForm& form);

}  // namespace ptrain
