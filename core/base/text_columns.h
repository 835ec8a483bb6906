// Tables for terminals.
#pragma once

#include <string>
#include <vector>

namespace ptrain {

enum class Align { left, right };

/// Rows of cells as lines: a column is as wide as its widest cell, in characters, two spaces are between columns, none
/// at a line's end. Columns beyond those of `aligned` are aligned left. Rows may have fewer cells than others.
std::string align_columns(const std::vector<std::vector<std::string>>& rows, const std::vector<Align>& aligned = {});

}  // namespace ptrain
