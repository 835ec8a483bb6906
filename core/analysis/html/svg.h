// Drawings as SVG.
#pragma once

#include "core/analysis/html/drawing.h"

#include <string>

namespace ptrain::html {

/// Escapes the special characters of HTML and XML in `text`; drops control characters, which XML does not allow.
std::string escaped(const std::string& text);

/// An element of a page; the page's style sheet sets the colours of the inks.
std::string svg_element(const Drawing& drawing);
/// A standalone file, in the light colours on white: a viewer with a dark page shows it alike.
std::string svg_file(const Drawing& drawing);

}  // namespace ptrain::html
