// Drawings in LaTeX, for papers: their text is in the document's own font, which LaTeX embeds.
#pragma once

#include "core/analysis/html/drawing.h"

#include <string>

namespace ptrain::html {

/// A tikzpicture of the drawing's size (a CSS pixel is 0.75 bp), in the light colours. A document needs the package
/// tikz and puts it in by \input.
std::string tikz_file(const Drawing& drawing);

}  // namespace ptrain::html
