#include "core/data/text/character_set.h"

#include "core/base/utf8.h"
#include "core/data/text/text_encoding.h"
#include "core/io/atomic_file.h"

#include <algorithm>

namespace ptrain {
namespace {

constexpr const char* blank_name = "<blank>";
constexpr std::int32_t no_character = -1;

}  // namespace

CharacterSet::CharacterSet(const std::vector<std::string>& characters) : names_{blank_name} {
  for (const std::string& one : characters) {
    classes_.emplace(one, static_cast<std::int32_t>(names_.size()));
    names_.push_back(one);
  }
}

CharacterSet CharacterSet::read(const std::filesystem::path& file, TextEncoding encoding) {
  const DecodedText decoded = read_running_text(file, encoding);
  std::vector<std::string> characters;
  std::map<std::string, std::int64_t> lines;
  std::string_view rest = decoded.text;
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty() || utf8_length(line) != line.size()) {
      fail("{}:{}: expected one character, got {}", file.string(), number, quoted_name(line));
    }
    if (const auto [same, is_new] = lines.emplace(line, number); !is_new) {
      fail("{}:{}: {} is on line {} too: remove one of them", file.string(), number, quoted_name(line), same->second);
    }
    characters.push_back(line);
  }
  if (characters.empty()) fail("{}: has no characters; expected one a line", file.string());
  return CharacterSet(characters);
}

std::vector<std::int32_t> CharacterSet::encode(std::string_view text, const std::string& place,
                                               const std::string& source) const {
  std::vector<std::int32_t> classes;
  for (const std::string& one : split_characters(text)) {
    const auto found = classes_.find(one);
    if (found == classes_.end()) {
      fail("{}: the text {} has the character {}, which is not in {}", place, quoted_name(text), quoted_name(one),
           source);
    }
    classes.push_back(found->second);
  }
  return classes;
}

std::vector<std::string> split_characters(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    characters.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return characters;
}

std::vector<TensorSpec> with_characters(std::vector<TensorSpec> inputs, const DatasetInfo& data) {
  inputs.push_back({tensor_names::characters, DType::i32, {data.max_length}, no_character, data.classes});
  return inputs;
}

void write_characters(std::span<const std::int32_t> classes, std::span<std::int32_t> row) {
  std::ranges::fill(row, no_character);
  std::copy_n(classes.begin(), std::min(classes.size(), row.size()), row.begin());
}

}  // namespace ptrain
