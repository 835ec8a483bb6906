#include "core/analysis/document_tables.h"

#include "core/analysis/effects/effects.h"
#include "core/analysis/table.h"
#include "core/base/errors.h"
#include "core/config/text.h"
#include "core/io/atomic_file.h"

#include <sstream>

namespace ptrain {
namespace {

constexpr std::string_view begin_marker = "<!-- ptrain ";
constexpr std::string_view end_marker = "<!-- /ptrain -->";

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

/// Renders what a mark requests, as text that ends in a newline.
std::string render_mark(const std::string& mark, const std::filesystem::path& folder, const std::string& where) {
  const std::size_t end = mark.find("-->");
  if (end == std::string::npos) fail_usage("{}: the mark is not closed on its line (-->)", where);
  std::istringstream words(mark.substr(begin_marker.size(), end - begin_marker.size()));
  std::string kind, columns = default_columns();
  words >> kind;
  std::vector<RunSet> sets;
  for (std::string word; words >> word;) {
    if (word == "--columns") {
      words >> columns;
    } else if (word.starts_with("--")) {
      fail_usage("{}: a mark takes paths and --columns, got {}", where, shown(word));
    } else {
      sets.push_back(load_runs((folder / word).string()));
    }
  }
  if (sets.empty()) fail_usage("{}: the mark names no report or folder", where);
  if (kind == "table") return table_markdown(make_table(sets, columns), folder);
  if (kind == "effects" && sets.size() == 1) return effects_markdown(find_effects(sets.front()));
  fail_usage("{}: expected ptrain table PATHS or ptrain effects DIR, got {}", where, shown(kind));
}

}  // namespace

DocumentTables render_document(const std::filesystem::path& document) {
  DocumentTables result;
  const std::string content = read_file(document, WebPages::read);
  const std::string line_end = content.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  const std::vector<std::string> lines = split_lines(content);
  const std::filesystem::path folder = document.has_parent_path() ? document.parent_path() : ".";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    result.rendered += lines[i] + line_end;
    if (!lines[i].starts_with(begin_marker)) continue;
    const std::size_t mark = i;
    const std::string where = fmt::format("{}:{}", document.string(), mark + 1);
    std::size_t end = mark + 1;
    while (end < lines.size() && lines[end] != end_marker && !lines[end].starts_with(begin_marker)) ++end;
    if (end == lines.size() || lines[end] != end_marker) fail_usage("{}: no line {} ends it", where, end_marker);
    const std::string made = render_mark(lines[mark], folder, where);
    const std::vector<std::string> wanted = split_lines(made);
    for (std::size_t k = 0; k < std::max(wanted.size(), end - mark - 1); ++k) {
      const std::string says = mark + 1 + k < end ? lines[mark + 1 + k] : "";
      const std::string should = k < wanted.size() ? wanted[k] : "";
      if (says == should) continue;
      result.differences.push_back(
          fmt::format("{}:{}: says \"{}\", the reports say \"{}\"", document.string(), mark + 2 + k, says, should));
    }
    for (const std::string& line : wanted) result.rendered += line + line_end;
    result.rendered += std::string(end_marker) + line_end;
    ++result.tables;
    i = end;
  }
  return result;
}

}  // namespace ptrain
