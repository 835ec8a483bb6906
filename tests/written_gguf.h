// GGUF files written part by part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain::gguf_test {

/// A GGUF file by its parts.
class Written {
 public:
  template <typename Number>
  Written& number(Number value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Written& string(std::string_view text) {
    number(static_cast<std::uint64_t>(text.size()));
    text_ += text;
    return *this;
  }
  /// A key with a list of texts, or of 32-bit numbers of ggml's type `type`.
  Written& texts(std::string_view key, const std::vector<std::string>& values) {
    list(key, 8, values.size());
    for (const std::string& value : values) string(value);
    return *this;
  }
  template <typename Number>
  Written& numbers(std::string_view key, std::uint32_t type, const std::vector<Number>& values) {
    list(key, type, values.size());
    for (const Number value : values) number(value);
    return *this;
  }
  Written& tensor(std::string_view name, std::vector<std::uint64_t> extents, std::uint32_t type, std::uint64_t offset) {
    string(name).number(static_cast<std::uint32_t>(extents.size()));
    for (const std::uint64_t extent : extents) number(extent);
    return number(type).number(offset);
  }
  /// The data, from the next multiple of 32 on.
  Written& data(std::size_t bytes) {
    text_.resize((text_.size() + 31) / 32 * 32 + bytes);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void list(std::string_view key, std::uint32_t type, std::size_t count) {
    constexpr std::uint32_t array = 9;
    string(key).number(array).number(type).number(static_cast<std::uint64_t>(count));
  }

  std::string text_;
};

/// The start of a file with these numbers of tensors and keys.
inline Written begin(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
  Written file;
  for (const char letter : {'G', 'G', 'U', 'F'}) file.number(letter);
  file.number(version).number(tensors).number(keys);
  return file;
}

}  // namespace ptrain::gguf_test
