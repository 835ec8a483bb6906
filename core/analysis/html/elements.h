// Building blocks of pages, as HTML.
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
  std::string tip;           // tooltip
  std::string picture = {};  // before the text: a data URI
  double shade = 0;          // of the background, from 0 to 1

  HtmlCell(std::string shown, std::string to = "", std::string tooltip = "")
      : text(std::move(shown)), link(std::move(to)), tip(std::move(tooltip)) {}
};
struct HtmlTable {
  std::string title;  // may be empty
  std::vector<HtmlColumn> columns;
  std::vector<std::vector<HtmlCell>> rows;
};

/// A section with the table, whose rows become cards on a phone. Empty for a table without rows.
std::string table_section(const HtmlTable& table);
std::string figure_section(const Figure& figure);
/// A whole HTML document around its content, with the style sheet; `script` is the URL of a script, or empty.
std::string page_document(const std::string& title, const std::string& content, const std::string& script = "");
/// The URL of a file by its relative path; empty for an empty one.
std::string file_link(const std::string& path);
/// A line with a link to the page above.
std::string back_link(const std::string& url, const std::string& text);
/// A few figures in large type, each above its name.
struct LargeFigure {
  std::string value, name;
};
std::string large_figures(const std::vector<LargeFigure>& figures);
/// Content that opens when its title is clicked; empty for empty content.
std::string folded(const std::string& title, const std::string& content);
/// A paragraph element; empty for an empty text.
std::string paragraph(const std::string& text, const char* attributes = "");

}  // namespace ptrain::html
