// Escapes external text (names of cases, of models) for a cell of a markdown table.
#pragma once

#include <string>
#include <string_view>

namespace ptrain {

/// Escapes pipes, line ends and "<", which would end the cell, end the table, or begin an HTML tag.
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
