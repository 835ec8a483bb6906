// Detects the encoding of bytes by UTF-8's strict rules first, then with the C library's iconv.
#include "core/data/text/text_encoding.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/io/atomic_file.h"
#include "core/io/packed_file.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

namespace ptrain {
namespace {

/// iconv's names, in the order of TextEncoding; UTF-16's byte order is given by its mark.
constexpr std::array<const char*, 6> iconv_names{nullptr, "UTF-8", "GB18030", "UTF-16", "BIG5", "WINDOWS-1252"};

struct Conversion {
  std::string text;
  std::optional<std::size_t> failed_at;  // the first byte that is invalid in the encoding
};

class Converter {
 public:
  Converter(const std::string& name, TextEncoding from)
      : handle_(iconv_open("UTF-8", iconv_names[static_cast<std::size_t>(from)])) {
    if (handle_ == iconv_t(-1)) {
      fail("{}: is {}, which this system's iconv does not convert (glibc's modules for it are not installed)", name,
           enum_name(from));
    }
  }
  ~Converter() { iconv_close(handle_); }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  Conversion convert(std::string_view bytes) {
    Conversion done;
    std::array<char, 65536> block{};
    char* in = const_cast<char*>(bytes.data());
    std::size_t left = bytes.size();
    while (left > 0) {
      char* out = block.data();
      std::size_t room = block.size();
      const bool whole = iconv(handle_, &in, &left, &out, &room) != static_cast<std::size_t>(-1);
      const int why = errno;
      done.text.append(block.data(), block.size() - room);
      if (!whole && why != E2BIG) {
        done.failed_at = bytes.size() - left;
        break;
      }
    }
    return done;
  }

 private:
  iconv_t handle_;
};

std::int64_t count_line(std::string_view bytes, std::size_t position) {
  return 1 + std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(position), '\n');
}

/// The share of UTF-8 in the bytes beyond ASCII, and the first byte that is not UTF-8.
struct Utf8Part {
  double share = 1;
  std::size_t first_wrong = 0;
};

Utf8Part utf8_part(std::string_view bytes) {
  std::size_t beyond = 0, good = 0;
  std::optional<std::size_t> wrong;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(bytes.substr(at));
    if (length == 0 && !wrong) wrong = at;
    if (length != 1) beyond += std::max<std::size_t>(length, 1);
    if (length > 1) good += length;
    at += std::max<std::size_t>(length, 1);
  }
  return {beyond == 0 ? 1.0 : static_cast<double>(good) / static_cast<double>(beyond), wrong.value_or(bytes.size())};
}

/// Whether most two-byte characters are in GB2312's range, whose second byte is not ASCII. In text of another encoding
/// accented letters pair with the ASCII letter after them.
bool looks_like_chinese(std::string_view bytes) {
  const auto beyond = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  std::size_t pairs = 0, common = 0;
  for (std::size_t at = 0; at + 1 < bytes.size(); ++at) {
    if (!beyond(bytes[at])) continue;
    ++pairs;
    common += beyond(bytes[at + 1]) ? 1 : 0;
    ++at;
  }
  return 2 * common > pairs;
}

/// `said_by` names the source of the encoding, for the message if the text does not fit it.
std::string decode_as(std::string_view bytes, const std::string& name, TextEncoding encoding, const char* said_by) {
  Conversion done = Converter(name, encoding).convert(bytes);
  if (done.failed_at) {
    fail("{}:{}: not {}, which {} says it is", name, count_line(bytes, *done.failed_at), enum_name(encoding), said_by);
  }
  return std::move(done.text);
}

}  // namespace

static DecodedText decode_bytes(std::string bytes, const std::string& name, TextEncoding encoding) {
  if (const std::size_t mark = bytes.size() - without_byte_order_mark(bytes).size();
      mark > 0 && (encoding == TextEncoding::automatic || encoding == TextEncoding::utf8)) {
    bytes.erase(0, mark);
  }
  if (encoding == TextEncoding::utf8) return {std::move(bytes), {}};
  if (encoding != TextEncoding::automatic) return {decode_as(bytes, name, encoding, "data.encoding"), {}};
  const auto noted = [&](std::string text, TextEncoding found) {
    return DecodedText{std::move(text), fmt::format("{}: is not UTF-8, read as {} (data.encoding overrides this)", name,
                                                    enum_name(found))};
  };
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    return noted(decode_as(bytes, name, TextEncoding::utf16, "its byte order mark"), TextEncoding::utf16);
  }
  if (is_utf8(bytes)) return {std::move(bytes), {}};
  const Utf8Part utf8 = utf8_part(bytes);
  const std::int64_t line = count_line(bytes, utf8.first_wrong);
  constexpr double mostly = 0.7;  // about 0.3 of Chinese in GBK is UTF-8 by chance
  if (utf8.share > mostly) fail("{}:{}: not UTF-8, unlike the text around it", name, line);
  Conversion chinese = Converter(name, TextEncoding::gb18030).convert(bytes);
  if (chinese.failed_at || !looks_like_chinese(bytes)) {
    fail("{}:{}: neither UTF-8 nor GB18030; set data.encoding, or iconv -f ENCODING -t UTF-8 converts it", name, line);
  }
  return noted(std::move(chinese.text), TextEncoding::gb18030);
}

DecodedText decode_text(std::string bytes, const std::string& name, TextEncoding encoding) {
  DecodedText decoded = decode_bytes(std::move(bytes), name, encoding);
  if (has_lone_returns(decoded.text)) fail("{}: {}", name, lone_returns_message);
  return decoded;
}

DecodedText read_running_text(const std::filesystem::path& file, TextEncoding encoding) {
  DecodedText decoded = decode_text(read_unpacked_file(file, WebPages::read), file.string(), encoding);
  std::string& text = decoded.text;
  if (const std::size_t at = text.find('\0'); at != text.npos) {
    fail("{}:{}: not a text file (byte 0x00)", file.string(), count_line(text, at));
  }
  std::size_t size = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool ends_line = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    if (!ends_line) text[size++] = text[at];
  }
  text.resize(size);
  return decoded;
}

}  // namespace ptrain
