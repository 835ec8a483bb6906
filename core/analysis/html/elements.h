// The parts that pages are put together from, as HTML.
#pragma once

#include "core/analysis/html/figure.h"

#include <string>
#include <utility>
#include <vector>

namespace ptrain::html {

struct HtmlColumn {
  std::string title;
  bool numeric = false;
};
struct HtmlCell {
  std::string text;
  std::string link;          // may be empty
  std::string tip;           // what pointing at it tells
  std::string picture = {};  // before the text: a data URI

  HtmlCell(std::string shown, std::string to = "", std::string told = "")
      : text(std::move(shown)), link(std::move(to)), tip(std::move(told)) {}
};
struct HtmlTable {
  std::string title;  // may be empty
  std::vector<HtmlColumn> columns;
  std::vector<std::vector<HtmlCell>> rows;
};

/// A section with the table; on a phone its rows are cards. Empty where it has no rows.
std::string table_section(const HtmlTable& table);
std::string figure_section(const Figure& figure);
/// Empty for an empty text.
std::string paragraph(const std::string& text, const char* attributes = "");

}  // namespace ptrain::html
