// Drawings as SVG.
#pragma once

#include "core/analysis/html/drawing.h"

#include <string>

namespace ptrain::html {

/// `text` with the characters that HTML and XML give a meaning replaced; control characters, which XML has none of, are
/// left out.
std::string escaped(const std::string& text);

/// An element of a page, whose style sheet gives the inks their colours.
std::string svg_element(const Drawing& drawing);
/// A file of its own, in the light colours.
std::string svg_file(const Drawing& drawing);

}  // namespace ptrain::html
