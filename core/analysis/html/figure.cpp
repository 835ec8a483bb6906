#include "core/analysis/html/figure.h"

#include "core/analysis/html/pdf.h"
#include "core/analysis/html/svg.h"
#include "core/analysis/html/tikz.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <cctype>

namespace ptrain::html {
namespace {

constexpr double panel_gap = 28;

/// A panel with its title above.
Drawing add_title(const Panel& panel) {
  Drawing drawing;
  if (panel.title.empty()) return panel.drawing;
  for (const std::string& line : wrapped(panel.title, drawing.width)) {
    drawing.text({0, drawing.height + 13}, line);
    drawing.shapes.back().bold = true;
    drawing.height += 16;
  }
  drawing.place(panel.drawing, {0, drawing.height + 4});
  return drawing;
}

}  // namespace

Drawing whole(const Figure& figure) {
  Drawing drawing;
  drawing.description = figure.title;
  if (!figure.legend.empty()) drawing.place(figure.legend, {0, 0});
  if (drawing.height > 0) drawing.height += 8;
  const std::size_t columns = std::min<std::size_t>(2, figure.panels.size());
  for (std::size_t i = 0; i < figure.panels.size(); i += columns) {
    const double top = drawing.height + (i == 0 ? 0 : panel_gap);
    for (std::size_t k = i; k < std::min(i + columns, figure.panels.size()); ++k) {
      const Drawing panel = add_title(figure.panels[k]);
      drawing.place(panel, {static_cast<double>(k - i) * (panel.width + panel_gap), top});
    }
  }
  return drawing;
}

bool is_tall(const Figure& figure) {
  constexpr double screen = 600;
  return std::ranges::any_of(figure.panels, [](const Panel& panel) { return panel.drawing.height > screen; });
}

std::string file_stem(const std::string& text) {
  std::string stem;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (plain) stem += c;
    if (!plain && !stem.ends_with('-')) stem += '-';
  }
  return stem;
}

std::vector<std::filesystem::path> write_figures(const std::vector<Figure>& figures,
                                                 const std::filesystem::path& folder) {
  make_folder(folder);
  const std::optional<OutlineFonts> fonts = OutlineFonts::find();
  std::vector<std::filesystem::path> paths;
  for (const Figure& figure : figures) {
    const Drawing drawing = whole(figure);
    for (const auto& [ending, content] :
         {std::pair(".svg", svg_file(drawing)), std::pair(".pdf", pdf_file(drawing, fonts ? &*fonts : nullptr)),
          std::pair(".tex", tikz_file(drawing))}) {
      paths.push_back(folder / (figure.name + ending));
      write_file_atomic(paths.back(), content);
    }
  }
  return paths;
}

}  // namespace ptrain::html
