// A figure of a page or of a paper: panels with one legend.
#pragma once

#include "core/analysis/html/drawing.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ptrain::html {

struct Panel {
  std::string title;
  Drawing drawing;
};

struct Figure {
  std::string name;  // file name: "throughput"
  std::string title;
  std::vector<std::string> notes;
  Drawing legend;  // may be empty
  std::vector<Panel> panels;
};

/// The figure as one drawing, without title and notes, which belong in a caption; several panels form two columns.
Drawing whole(const Figure& figure);

/// Whether it is several screens tall.
bool is_tall(const Figure& figure);

/// Keeps letters, digits, "-" and "_" of `text`; each other character becomes "-".
std::string file_stem(const std::string& text);

/// Writes NAME.svg, NAME.pdf and NAME.tex for every figure; returns the paths. Throws Error{failed} if a file cannot be
/// written.
std::vector<std::filesystem::path> write_figures(const std::vector<Figure>& figures,
                                                 const std::filesystem::path& folder);

}  // namespace ptrain::html
