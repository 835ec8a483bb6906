#include "core/analysis/html/elements.h"

#include "core/analysis/html/style.h"
#include "core/analysis/html/svg.h"
#include "core/base/url.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain::html {
namespace {

/// Escapes `text` and allows a line break after each comma.
std::string allow_breaks(const std::string& text) {
  std::string result;
  for (const char c : escaped(text)) {
    result += c;
    if (c == ',') result += "<wbr>";
  }
  return result;
}

bool is_empty(const HtmlCell& cell) { return cell.picture.empty() && (cell.text.empty() || cell.text == "-"); }

/// Whether nothing follows the row's name.
bool is_bare(const std::vector<HtmlCell>& row) {
  return row.size() > 1 && std::all_of(row.begin() + 1, row.end(), is_empty);
}

std::string format_cell(const HtmlColumn& column, const HtmlCell& cell) {
  const std::string picture =
      cell.picture.empty() ? "" : fmt::format("<img alt=\"\" src=\"{}\">", escaped(cell.picture));
  const std::string text = picture + allow_breaks(cell.text);
  const std::string shade =
      cell.shade > 0
          ? fmt::format(" style=\"background:color-mix(in srgb,var(--s0) {:.0f}%,transparent)\"", 60 * cell.shade)
          : "";
  const char* const classes = column.numeric ? (is_empty(cell) ? " class=\"n none\"" : " class=\"n\"")
                                             : (is_empty(cell) ? " class=\"none\"" : "");
  return fmt::format("<td data-title=\"{}\"{}{}{}>{}</td>", escaped(column.title), classes,
                     cell.tip.empty() ? "" : fmt::format(" title=\"{}\"", escaped(cell.tip)), shade,
                     cell.link.empty() ? text : fmt::format("<a href=\"{}\">{}</a>", escaped(cell.link), text));
}

}  // namespace

std::string page_document(const std::string& title, const std::string& content, const std::string& script) {
  const std::string followed = script.empty() ? "" : fmt::format("<script src=\"{}\"></script>", escaped(script));
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{}</title>\n"
      "<style>{}</style></head>\n<body><main>\n{}</main>{}</body></html>\n",
      escaped(title), style(), content, followed);
}

std::string file_link(const std::string& path) { return encode_url(path, "/=,+@"); }

std::string back_link(const std::string& url, const std::string& text) {
  return fmt::format("<p><a href=\"{}\">\u2190 {}</a></p>\n", escaped(url), escaped(text));
}

std::string paragraph(const std::string& text, const char* attributes) {
  return text.empty() ? "" : fmt::format("<p{}>{}</p>\n", attributes, escaped(text));
}

std::string large_figures(const std::vector<LargeFigure>& figures) {
  std::string content;
  for (const LargeFigure& figure : figures) {
    content += fmt::format("<div><b>{}</b><span>{}</span></div>\n", escaped(figure.value), escaped(figure.name));
  }
  return fmt::format("<div class=\"large\">\n{}</div>\n", content);
}

std::string folded(const std::string& title, const std::string& content) {
  return content.empty() ? "" : fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(title), content);
}

std::string table_section(const HtmlTable& table) {
  if (table.rows.empty()) return "";
  std::string head, body;
  for (const HtmlColumn& column : table.columns) {
    head += fmt::format("<th{}>{}</th>", column.numeric ? " class=\"n\"" : "", escaped(column.title));
  }
  for (const std::vector<HtmlCell>& row : table.rows) {
    body += is_bare(row) ? "<tr class=\"none\">" : "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) body += format_cell(table.columns[i], row[i]);
    body += "</tr>\n";
  }
  return fmt::format(
      "<section class=\"wide\">{}<table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></section>\n",
      table.title.empty() ? "" : fmt::format("<h2>{}</h2>", escaped(table.title)), head, body);
}

std::string figure_section(const Figure& figure) {
  const std::size_t panels = figure.panels.size();
  const bool pairs = panels % 3 != 0 && panels % 2 == 0;
  std::string text =
      fmt::format("<section{}><h2>{}</h2>\n", panels > 1 ? " class=\"whole\"" : "", escaped(figure.title));
  if (!figure.legend.empty()) text += svg_element(figure.legend);
  text += fmt::format("<div class=\"panels{}\">\n", pairs ? " two" : "");
  for (const Panel& panel : figure.panels) {
    const std::string title =
        panel.title.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", escaped(panel.title));
    text += fmt::format("<figure>{}{}</figure>\n", title, svg_element(panel.drawing));
  }
  text += "</div>\n";
  for (const std::string& note : figure.notes) text += paragraph(note, " class=\"note\"");
  return text + "</section>\n";
}

}  // namespace ptrain::html
