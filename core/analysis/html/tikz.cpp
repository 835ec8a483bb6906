#include "core/analysis/html/tikz.h"

#include "core/analysis/latex.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace ptrain::html {
namespace {

constexpr double point = 0.75;  // bp in a CSS pixel

std::string name_colour(Ink ink) { return fmt::format("ptrain{}", ink_colours[static_cast<std::size_t>(ink)].name); }

/// Definitions of the colours that the drawing has.
std::string define_colours(const Drawing& drawing) {
  std::set<Ink> inks;
  for (const Shape& shape : drawing.shapes) inks.insert({shape.fill, shape.stroke});
  inks.erase(Ink::none);
  std::string text;
  for (const Ink ink : inks) {
    const std::string rgb(ink_colours[static_cast<std::size_t>(ink)].light + 1);
    text += fmt::format("\\definecolor{{{}}}{{HTML}}{{", name_colour(ink));
    for (const char c : rgb) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    text += "}%\n";
  }
  return text;
}

std::string format_text(const Shape& shape) {
  static constexpr const char* anchors[] = {"base west", "base", "base east"};
  return fmt::format(
      "\\node[anchor={},inner sep=0pt,text={},font=\\fontsize{{{:g}bp}}{{{:g}bp}}\\selectfont{}] at ({:.2f},{:.2f}) "
      "{{{}}};\n",
      anchors[static_cast<std::size_t>(shape.anchor)], name_colour(shape.fill), point * shape.size,
      1.2 * point * shape.size, shape.bold ? "\\bfseries" : "", shape.points[0].x, shape.points[0].y,
      latex_text(shape.content));
}

std::string format_style(const Shape& shape) {
  std::string style;
  if (shape.fill != Ink::none) style += fmt::format("fill={},", name_colour(shape.fill));
  if (shape.faint) style += "fill opacity=0.2,";
  if (shape.stroke == Ink::none) return style + "draw=none";
  style += fmt::format("draw={},line width={:g}bp,line join=round", name_colour(shape.stroke), point * shape.size);
  const std::vector<double> dashes = dash_pattern(shape.dash);
  if (dashes.empty()) return style;
  style += ",dash pattern=";
  for (std::size_t i = 0; i < dashes.size(); ++i) {
    style += fmt::format("{} {:g}bp ", i % 2 == 0 ? "on" : "off", point * dashes[i]);
  }
  style.pop_back();
  return style;
}

std::string format_shape(const Shape& shape) {
  if (shape.kind == Shape::Kind::text) return format_text(shape);
  std::string path;
  if (shape.kind == Shape::Kind::circle) {
    path = fmt::format("({:.2f},{:.2f}) circle[radius={:g}]", shape.points[0].x, shape.points[0].y, shape.radius);
  } else {
    std::vector<std::string> points;
    for (const Position& at : shape.points) points.push_back(fmt::format("({:.2f},{:.2f})", at.x, at.y));
    path = fmt::format("{}{}", fmt::join(points, " -- "), shape.kind == Shape::Kind::polygon ? " -- cycle" : "");
  }
  return fmt::format("\\path[{}] {};\n", format_style(shape), path);
}

}  // namespace

std::string tikz_file(const Drawing& drawing) {
  std::string text = fmt::format(
      "% {}\n{}\\begin{{tikzpicture}}[x={:g}bp,y=-{:g}bp]\n\\path[use as bounding box] (0,0) rectangle "
      "({:.2f},{:.2f});\n",
      latex_text(drawing.description), define_colours(drawing), point, point, drawing.width, drawing.height);
  for (const Shape& shape : drawing.shapes) text += format_shape(shape);
  return text + "\\end{tikzpicture}%\n";
}

}  // namespace ptrain::html
