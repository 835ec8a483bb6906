// A figure of a page or of a paper: panels that are read together, with one legend.
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
  std::string name;  // of its file: "throughput"
  std::string title;
  std::vector<std::string> notes;
  Drawing legend;  // may be empty
  std::vector<Panel> panels;
};

/// The figure as one drawing, without title and notes, which are a caption's; several panels stand in two columns.
Drawing whole(const Figure& figure);

/// Letters, digits, "-" and "_" of `text`; each other one becomes "-".
std::string file_stem(const std::string& text);

/// Writes NAME.svg and NAME.pdf of every figure; returns the paths. Throws Error{failed} for what cannot be written.
std::vector<std::filesystem::path> write_figures(const std::vector<Figure>& figures,
                                                 const std::filesystem::path& folder);

}  // namespace ptrain::html
