// The format: Apple's "TrueType Reference Manual"; tables head, maxp, hhea, hmtx, cmap (format 4), loca and glyf.
#include "core/analysis/html/outline_font.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/io/atomic_file.h"

#include <algorithm>

namespace ptrain::html {
namespace {

namespace fs = std::filesystem;

constexpr std::array folders{"/usr/share/fonts/truetype/liberation",
                             "/usr/share/fonts/truetype/liberation2",
                             "/usr/share/fonts/liberation-sans",
                             "/usr/share/fonts/liberation",
                             "/usr/share/fonts/truetype/dejavu",
                             "/usr/share/fonts/dejavu-sans-fonts",
                             "/usr/share/fonts/dejavu",
                             "/usr/share/fonts/TTF"};
constexpr std::array regular_names{"LiberationSans-Regular.ttf", "DejaVuSans.ttf"};
constexpr std::array bold_names{"LiberationSans-Bold.ttf", "DejaVuSans-Bold.ttf"};
constexpr int deepest = 4;  // of glyphs that consist of others

/// Flags of the points of a glyph, and of its parts.
enum PointFlag : std::uint32_t { on_curve = 1, short_x = 2, short_y = 4, repeats = 8, same_x = 16, same_y = 32 };
enum PartFlag : std::uint32_t { words = 1, offsets = 2, one_scale = 8, more = 32, two_scales = 64, matrix = 128 };

/// Code points of a text in UTF-8; 0xfffd for what is not well-formed.
std::vector<std::uint32_t> decode(std::string_view text) {
  std::vector<std::uint32_t> characters;
  while (!text.empty()) {
    const std::size_t bytes = std::max<std::size_t>(1, utf8_length(text));
    const auto first = static_cast<unsigned char>(text[0]);
    std::uint32_t character = bytes == 1 ? first : first & (0x7fU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) character = character << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
    characters.push_back(bytes == 1 && first > 127 ? 0xfffd : character);
    text.remove_prefix(bytes);
  }
  return characters;
}

}  // namespace

OutlineFont::OutlineFont(const fs::path& file) : bytes_(read_file(file)), name_(file.string()) {
  const std::size_t head = find_table("head");
  em_ = read(head + 18, 2);
  long_locations_ = read(head + 50, 2) != 0;
  glyph_count_ = read(find_table("maxp") + 4, 2);
  advance_count_ = read(find_table("hhea") + 34, 2);
  advances_ = find_table("hmtx");
  locations_ = find_table("loca");
  glyphs_ = find_table("glyf");
  characters_ = find_characters();
  if (em_ == 0 || advance_count_ == 0 || glyph_count_ == 0) fail("{}: damaged font", name_);
}

std::optional<OutlineFont> OutlineFont::find(bool bold) {
  for (std::size_t i = 0; i < regular_names.size(); ++i) {
    for (const char* folder : folders) {
      const fs::path file = fs::path(folder) / (bold ? bold_names : regular_names)[i];
      std::error_code error;
      if (fs::is_regular_file(file, error)) return OutlineFont(file);
    }
  }
  return std::nullopt;
}

std::uint32_t OutlineFont::read(std::size_t at, std::size_t bytes) const {
  if (at + bytes > bytes_.size()) fail("{}: damaged font", name_);
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8U | static_cast<unsigned char>(bytes_[at + i]);
  return value;
}

std::size_t OutlineFont::find_table(const char* tag) const {
  const std::size_t tables = read(4, 2);
  for (std::size_t i = 0; i < tables; ++i) {
    const std::size_t entry = 12 + 16 * i;
    const std::uint32_t place = read(entry + 8, 4);
    if (bytes_.compare(entry, 4, tag) == 0) return place;
  }
  fail("{}: no TrueType font: it has no table {}", name_, tag);
}

/// The map of Unicode's first 65,536 characters, in format 4.
std::size_t OutlineFont::find_characters() const {
  const std::size_t table = find_table("cmap"), count = read(table + 2, 2);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = table + 4 + 8 * i, map = table + read(entry + 4, 4);
    const bool unicode = read(entry, 2) == 0 || (read(entry, 2) == 3 && read(entry + 2, 2) == 1);
    if (unicode && read(map, 2) == 4) return map;
  }
  fail("{}: has no map of Unicode characters", name_);
}

std::uint32_t OutlineFont::find_glyph(std::uint32_t character) const {
  const std::size_t segments = read(characters_ + 6, 2) / 2;
  const std::size_t ends = characters_ + 14, starts = ends + 2 * segments + 2, deltas = starts + 2 * segments,
                    offsets = deltas + 2 * segments;
  for (std::size_t i = 0; i < segments; ++i) {
    if (read(ends + 2 * i, 2) < character) continue;
    const std::uint32_t start = read(starts + 2 * i, 2), delta = read(deltas + 2 * i, 2);
    if (start > character) return 0;
    const std::uint32_t offset = read(offsets + 2 * i, 2);
    if (offset == 0) return (character + delta) & 0xffffU;
    const std::uint32_t glyph = read(offsets + 2 * i + offset + 2 * std::size_t{character - start}, 2);
    return glyph == 0 ? 0 : (glyph + delta) & 0xffffU;
  }
  return 0;
}

double OutlineFont::advance(std::uint32_t glyph) const {
  const std::size_t entry = std::min<std::size_t>(glyph, advance_count_ - 1);
  return read(advances_ + 4 * entry, 2) / em_;
}

double OutlineFont::width(std::string_view text) const {
  double width = 0;
  for (const std::uint32_t character : decode(text)) width += advance(find_glyph(character));
  return width;
}

std::vector<OutlineFont::Contour> OutlineFont::outline(std::string_view text) const {
  std::vector<Contour> all;
  double x = 0;
  for (const std::uint32_t character : decode(text)) {
    const std::uint32_t glyph = find_glyph(character);
    for (Contour& contour : read_glyph(glyph, 0)) {
      for (OutlinePoint& point : contour) point.at = {x + point.at.x / em_, point.at.y / em_};
      all.push_back(std::move(contour));
    }
    x += advance(glyph);
  }
  return all;
}

/// Contours in the font's units.
std::vector<OutlineFont::Contour> OutlineFont::read_glyph(std::uint32_t glyph, int depth) const {
  if (glyph >= glyph_count_ || depth > deepest) fail("{}: damaged font", name_);
  const auto location = [&](std::size_t index) {
    return std::size_t{long_locations_ ? read(locations_ + 4 * index, 4) : 2 * read(locations_ + 2 * index, 2)};
  };
  const std::size_t begin = location(glyph), end = location(glyph + std::size_t{1});
  if (begin == end) return {};  // a space
  const std::int32_t contours = read_signed(glyphs_ + begin);
  const std::size_t at = glyphs_ + begin + 10;
  return contours < 0 ? read_composite(at, depth) : read_simple(at, static_cast<std::size_t>(contours));
}

std::vector<OutlineFont::Contour> OutlineFont::read_simple(std::size_t at, std::size_t contours) const {
  if (contours == 0) return {};
  const std::size_t ends = at, points = read(ends + 2 * (contours - 1), 2) + std::size_t{1};
  at += 2 * contours;
  at += 2 + read(at, 2);  // instructions
  std::vector<std::uint32_t> flags;
  while (flags.size() < points) {
    const std::uint32_t flag = read(at++, 1);
    const std::size_t count = (flag & repeats) != 0 ? read(at++, 1) + std::size_t{1} : 1;
    flags.insert(flags.end(), count, flag);
  }
  const auto read_coordinates = [&](std::uint32_t is_short, std::uint32_t same) {
    std::vector<double> values;
    std::int32_t value = 0;
    for (std::size_t i = 0; i < points; ++i) {
      if ((flags[i] & is_short) != 0) {
        const auto size = static_cast<std::int32_t>(read(at++, 1));
        value += (flags[i] & same) != 0 ? size : -size;
      } else if ((flags[i] & same) == 0) {
        value += read_signed(at);
        at += 2;
      }
      values.push_back(value);
    }
    return values;
  };
  const std::vector<double> x = read_coordinates(short_x, same_x), y = read_coordinates(short_y, same_y);
  std::vector<Contour> result(contours);
  std::size_t point = 0;
  for (std::size_t i = 0; i < contours; ++i) {
    const std::size_t last = read(ends + 2 * i, 2);
    for (; point <= last && point < points; ++point) {
      result[i].push_back({{x[point], y[point]}, (flags[point] & on_curve) != 0});
    }
  }
  return result;
}

std::vector<OutlineFont::Contour> OutlineFont::read_composite(std::size_t at, int depth) const {
  std::vector<Contour> all;
  for (std::uint32_t flags = more; (flags & more) != 0;) {
    flags = read(at, 2);
    const std::uint32_t glyph = read(at + 2, 2);
    at += 4;
    const bool wide = (flags & words) != 0;
    const auto read_offset = [&](std::size_t place) {
      return wide ? read_signed(place) : static_cast<std::int8_t>(read(place, 1));
    };
    Position shift;
    if ((flags & offsets) != 0) {
      shift.x = read_offset(at);
      shift.y = read_offset(at + (wide ? 2 : 1));
    }
    at += wide ? 4 : 2;
    const auto read_scale = [&] {
      at += 2;
      return read_signed(at - 2) / 16384.0;
    };
    double xx = 1, yx = 0, xy = 0, yy = 1;
    if ((flags & one_scale) != 0) {
      xx = yy = read_scale();
    } else if ((flags & two_scales) != 0) {
      xx = read_scale();
      yy = read_scale();
    } else if ((flags & matrix) != 0) {
      xx = read_scale();
      yx = read_scale();
      xy = read_scale();
      yy = read_scale();
    }
    for (Contour& contour : read_glyph(glyph, depth + 1)) {
      for (OutlinePoint& point : contour) {
        const auto [x, y] = point.at;
        point.at = {xx * x + xy * y + shift.x, yx * x + yy * y + shift.y};
      }
      all.push_back(std::move(contour));
    }
  }
  return all;
}

}  // namespace ptrain::html
