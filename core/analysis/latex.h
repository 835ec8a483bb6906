// Text and tables in LaTeX.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// Escapes `text` for LaTeX: line ends become spaces, "--" stays two hyphens.
std::string latex_text(std::string_view text);

struct LatexColumn {
  std::string title;
  bool numeric = false;
};
/// A tabular environment that needs no package; cells are escaped here.
std::string latex_tabular(std::span<const LatexColumn> columns, const std::vector<std::vector<std::string>>& rows);

}  // namespace ptrain
