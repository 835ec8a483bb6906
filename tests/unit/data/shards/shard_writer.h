// Shards as strings, written member by member and record by record.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptrain {

inline std::span<const std::uint8_t> get_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

struct TarOptions {
  char type = '0';
  std::string prefix = {};
  bool base_256 = false;  // the size in GNU's form
};

/// A header, the content and what fills its last block.
std::string tar_member(const std::string& path, std::string_view content, const TarOptions& options = {});
/// The two blocks that end an archive.
std::string tar_end();
/// A pax header that gives the next member `key`.
std::string pax_header(const std::string& key, const std::string& value);
/// Puts the checksum right after a header was changed.
void sign_tar_header(std::string& header);

/// A field of a message: its number and bytes, or a number.
std::string proto_bytes(int field, std::string_view value);
std::string proto_integer(int field, std::uint64_t value);

/// Feature with a bytes_list of one, or an int64_list.
std::string bytes_feature(std::string_view value);
enum class Packing { packed, unpacked };
std::string integer_feature(const std::vector<std::int64_t>& values, Packing packing = Packing::packed);
using Features = std::vector<std::pair<std::string, std::string>>;
/// tf.train.Example of names and features.
std::string make_example(const Features& features);
/// tf.train.SequenceExample of a context and of feature lists by name.
using FeatureLists = std::vector<std::pair<std::string, std::vector<std::string>>>;
std::string make_sequence_example(const Features& context, const FeatureLists& lists);
/// A record's frame around it.
std::string tf_record(std::string_view data);

}  // namespace ptrain
