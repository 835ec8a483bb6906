// Text from outside (names of cases, of models) in a cell of a markdown table.
#pragma once

#include <string>
#include <string_view>

namespace ptrain {

/// `text` as a cell shows it: a pipe would end the cell, a line end the table, and "<" begin an HTML tag.
inline std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    switch (c) {
      case '|':
        cell += "\\|";
        break;
      case '<':
        cell += "&lt;";
        break;
      case '\n':
      case '\r':
        cell += ' ';
        break;
      default:
        cell += c;
    }
  }
  return cell;
}

}  // namespace ptrain
