// The characters that a model reads in pictures as classes: 0 is the blank of connectionist temporal classification,
// between characters, and the others follow in the set's order.
#pragma once

#include "core/data/dataset.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

class CharacterSet {
 public:
  /// In the order of `characters`, which differ.
  explicit CharacterSet(const std::vector<std::string>& characters);
  /// A file with one character a line, as PP-OCR's dictionaries. Throws Error{failed} naming file and line where there
  /// is another number of them or one that an earlier line has, and as read_running_text() does.
  static CharacterSet read(const std::filesystem::path& file, TextEncoding encoding);

  /// "<blank>", then the characters.
  const std::vector<std::string>& class_names() const { return names_; }
  /// The classes of the text's characters. Throws Error{failed} naming one that is not in the set; `place`, file and
  /// line of the text, begins the message, and `source` says where the set comes from.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& place, const std::string& source) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::int32_t, std::less<>> classes_;
};

/// The characters of a text in UTF-8, one for each code point.
std::vector<std::string> split_characters(std::string_view text);

/// Adds the tensor of characters, data.max_length of them, to a sample's inputs.
std::vector<TensorSpec> with_characters(std::vector<TensorSpec> inputs, const DatasetInfo& data);
/// Writes the classes of a text, at most as many as the row has.
void write_characters(std::span<const std::int32_t> classes, std::span<std::int32_t> row);

}  // namespace ptrain
