#include "core/analysis/latex.h"

#include <fmt/format.h>

#include <utility>

namespace ptrain {
namespace {

constexpr std::pair<std::string_view, std::string_view> latex_escapes[] = {{"\\", "\\textbackslash{}"},
                                                                           {"~", "\\textasciitilde{}"},
                                                                           {"^", "\\textasciicircum{}"},
                                                                           {"<", "\\textless{}"},
                                                                           {">", "\\textgreater{}"},
                                                                           {"|", "\\textbar{}"},
                                                                           {"&", "\\&"},
                                                                           {"%", "\\%"},
                                                                           {"$", "\\$"},
                                                                           {"#", "\\#"},
                                                                           {"_", "\\_"},
                                                                           {"{", "\\{"},
                                                                           {"}", "\\}"},
                                                                           {"\n", " "},
                                                                           {"\r", " "},
                                                                           {"--", "-{}"},
                                                                           {"±", "$\\pm$"},
                                                                           {"×", "$\\times$"}};

}  // namespace

std::string latex_text(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t taken = 1;
    std::string_view written = text.substr(at, 1);
    for (const auto& [from, to] : latex_escapes) {
      if (!text.substr(at).starts_with(from)) continue;
      taken = from == "--" ? 1 : from.size();  // the second hyphen may begin another pair
      written = to;
      break;
    }
    result += written;
    at += taken;
  }
  return result;
}

std::string latex_tabular(std::span<const LatexColumn> columns, const std::vector<std::vector<std::string>>& rows) {
  std::string alignment, head, body;
  for (const LatexColumn& column : columns) {
    alignment += column.numeric ? 'r' : 'l';
    head += (head.empty() ? "" : " & ") + latex_text(column.title);
  }
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) body += (i == 0 ? "" : " & ") + latex_text(row[i]);
    body += " \\\\\n";
  }
  return fmt::format("\\begin{{tabular}}{{{}}}\n\\hline\n{} \\\\\n\\hline\n{}\\hline\n\\end{{tabular}}\n", alignment,
                     head, body);
}

}  // namespace ptrain
