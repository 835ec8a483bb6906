// Drawings as PDF, for papers.
#pragma once

#include "core/analysis/html/drawing.h"

#include <string>

namespace ptrain::html {

/// One page of the drawing's size (a CSS pixel is 0.75 pt), in the light colours, in Helvetica, which every reader has.
/// Characters outside Latin-1 become "?".
std::string pdf_file(const Drawing& drawing);

}  // namespace ptrain::html
