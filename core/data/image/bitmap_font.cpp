#include "core/data/image/bitmap_font.h"

#include <algorithm>

namespace ptrain {
namespace {

constexpr int glyph_width = 5;
constexpr char first_letter = '!', last_letter = '~', unknown_letter = '?';

// The rows of each letter from '!' on, one digit of base 32 each: its bits are pixels, the left one's the highest.
constexpr std::string_view glyphs =
    "444440400aaa000000aavavaa004fke5u400pp248jj00cik8lid00444000000248884200"
    "84222480004lel4000044v4400000000cc48000v0000000000cc0011248gg00ehjlphe00"
    "4ck444v00eh1248v00v2421he0026aiv2200vgu11he0068guhhe00v12244400ehhehhe00"
    "ehhf12c000cc00cc000cc00cc48248g8420000v0v0000842124800eh1240400ehnlmge00"
    "ehhvhhh00uhhuhhu00ehggghe00uhhhhhu00vgguggv00vgguggg00ehgnhhe00hhhvhhh00"
    "e44444e0072222ic00hikokih00ggggggv00hrllhhh00hppljjh00ehhhhhe00uhhuggg00"
    "ehhhlid00uhhukih00fgge11u00v44444400hhhhhhe00hhhhaa400hhhllrh00hha4ahh00"
    "hha444400v1248gv00e88888e00gg8421100e22222e004ah0000000000000v0840000000"
    "00e1fhf00gguhhhu0000fgggf0011fhhhf0000ehvge0068u88880000fhhhf1egguhhhh00"
    "40c444e0020622222cggikoki00c44444e0000qllll0000uhhhh0000ehhhe0000uhhhugg"
    "00fhhhf1100mpggg0000fge1u0088u88860000hhhhf0000hhha40000hllla0000ha4ah00"
    "00hhhhf1e00v248v00244844200444444400844244800008l20000";
static_assert(glyphs.size() == (last_letter - first_letter + 1) * letter_height);

/// Whether a byte of UTF-8 begins a character.
bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

std::string_view find_glyph(char letter) {
  if (letter < first_letter || letter > last_letter) letter = unknown_letter;
  return glyphs.substr(static_cast<std::size_t>(letter - first_letter) * letter_height, letter_height);
}

int decode_row(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

}  // namespace

void Canvas::fill(int left, int top, int right, int bottom, const Colour& colour) const {
  for (int y = std::max(top, 0); y < std::min(bottom, height); ++y) {
    for (int x = std::max(left, 0); x < std::min(right, width); ++x) {
      const std::ptrdiff_t at = 3 * (std::ptrdiff_t{y} * width + x);
      std::ranges::copy(colour, pixels.begin() + at);
    }
  }
}

int count_letters(std::string_view text) { return static_cast<int>(std::ranges::count_if(text, begins_character)); }

void draw_text(const Canvas& canvas, std::string_view text, int left, int top, int scale, const Colour& colour) {
  for (const char letter : text) {
    if (!begins_character(letter)) continue;
    const std::string_view glyph = letter == ' ' ? std::string_view() : find_glyph(letter);
    for (int row = 0; row < static_cast<int>(glyph.size()); ++row) {
      const int bits = decode_row(glyph[static_cast<std::size_t>(row)]);
      for (int column = 0; column < glyph_width; ++column) {
        if ((bits >> (glyph_width - 1 - column) & 1) == 0) continue;
        const int x = left + column * scale, y = top + row * scale;
        canvas.fill(x, y, x + scale, y + scale, colour);
      }
    }
    left += letter_width * scale;
  }
}

}  // namespace ptrain
