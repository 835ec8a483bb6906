#include "core/base/text_columns.h"

#include <algorithm>

namespace ptrain {
namespace {

std::size_t count_characters(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string align_columns(const std::vector<std::vector<std::string>>& rows, const std::vector<Align>& aligned) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], count_characters(row[i]));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - count_characters(row[i]), ' ');
      const bool is_right = i < aligned.size() && aligned[i] == Align::right;
      line += (i == 0 ? "" : "  ") + (is_right ? space + row[i] : row[i] + space);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace ptrain
