// Character classes come from utf8proc, with the sets that BERT's tokeniser adds to Unicode's.
#include "core/data/text/bert_text.h"

#include <utf8proc.h>

#include <cstdint>

namespace ptrain {
namespace {

/// The ranges of Hugging Face's BertNormalizer (which has 2B920 where the original BERT has 2B820).
bool is_chinese(std::int32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_removed(std::int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c == 0 || c == 0xFFFD) return true;
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

bool is_punctuation(std::int32_t c) {
  if ((c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126)) return true;
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

class WordWriter {
 public:
  explicit WordWriter(std::string& buffer) : buffer_(buffer) {}
  void append(std::int32_t c) {
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t count = utf8proc_encode_char(c, bytes);
    buffer_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
    open_ = true;
  }
  void end_word() {
    if (open_) buffer_.push_back('\n');
    open_ = false;
  }
  void append_alone(std::int32_t c) {
    end_word();
    append(c);
    end_word();
  }

 private:
  std::string& buffer_;
  bool open_ = false;
};

void write_character(std::int32_t c, WordWriter& words) {
  if (is_white_space(c)) {
    words.end_word();
  } else if (is_punctuation(c)) {
    words.append_alone(c);
  } else {
    words.append(c);
  }
}

void write_lowered(std::int32_t c, WordWriter& words) {
  constexpr int longest_decomposition = 32;
  std::int32_t parts[longest_decomposition];
  int last_bound_class = 0;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(c, parts, longest_decomposition, UTF8PROC_DECOMPOSE, &last_bound_class);
  for (utf8proc_ssize_t i = 0; i < count && i < longest_decomposition; ++i) {
    if (utf8proc_category(parts[i]) == UTF8PROC_CATEGORY_MN) continue;
    write_character(utf8proc_tolower(parts[i]), words);
  }
}

}  // namespace

void split_words(std::string_view text, TextCase text_case, std::string& buffer) {
  buffer.clear();
  WordWriter words(buffer);
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    std::int32_t c = 0;
    utf8proc_ssize_t used = 1;
    if (bytes[0] < 0x80) {
      c = bytes[0];
    } else {
      used = utf8proc_iterate(bytes, left, &c);
    }
    if (used <= 0) {  // not UTF-8
      ++bytes;
      --left;
      continue;
    }
    bytes += used;
    left -= used;
    if (is_removed(c)) continue;
    const bool chinese = c >= 0x3400 && is_chinese(c);
    if (chinese) words.end_word();
    if (text_case == TextCase::keep) {
      write_character(c, words);
    } else if (c < 0x80) {
      write_character(c >= 'A' && c <= 'Z' ? c + 32 : c, words);
    } else {
      write_lowered(c, words);
    }
    if (chinese) words.end_word();
  }
  words.end_word();
}

bool is_white_space(std::int32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
  return count;
}

}  // namespace ptrain
