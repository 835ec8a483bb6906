// Drawings as PDF, for papers.
#pragma once

#include "core/analysis/html/drawing.h"
#include "core/analysis/html/outline_font.h"

#include <optional>
#include <string>

namespace ptrain::html {

/// The fonts whose outlines a file's text is drawn in.
struct OutlineFonts {
  OutlineFont regular, bold;

  /// Those installed on this machine; absent: there are none.
  static std::optional<OutlineFonts> find();
};

/// One page of the drawing's size (a CSS pixel is 0.75 pt), in the light colours. With `fonts` text is drawn as
/// outlines, as wide as in Helvetica, and the file needs no font; without them it is in Helvetica, which every reader
/// has but no file, and characters outside Latin-1 become "?".
std::string pdf_file(const Drawing& drawing, const OutlineFonts* fonts = nullptr);

}  // namespace ptrain::html
