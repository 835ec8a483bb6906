#include "core/analysis/html/svg.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain::html {
namespace {

std::string name_variable(const InkColour& colour) { return fmt::format("var(--{})", colour.name); }
std::string get_light_colour(const InkColour& colour) { return colour.light; }

using ColourOf = std::string (*)(const InkColour&);

std::string format_ink(Ink ink, ColourOf find_colour) {
  return ink == Ink::none ? "none" : find_colour(ink_colours[static_cast<std::size_t>(ink)]);
}

std::string format_text(const Shape& shape, ColourOf find_colour) {
  static constexpr const char* anchor_words[] = {"start", "middle", "end"};
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" style="fill:{};font-size:{:g}px;text-anchor:{}{}">{}</text>)",
                     shape.points[0].x, shape.points[0].y, format_ink(shape.fill, find_colour), shape.size,
                     anchor_words[static_cast<std::size_t>(shape.anchor)], shape.bold ? ";font-weight:600" : "",
                     escaped(shape.content));
}

std::string format_element(const Shape& shape, ColourOf find_colour) {
  if (shape.kind == Shape::Kind::text) return format_text(shape, find_colour);
  std::string style = "fill:" + format_ink(shape.fill, find_colour);
  if (shape.faint) style += ";fill-opacity:0.2";
  if (shape.stroke != Ink::none)
    style += fmt::format(";stroke:{};stroke-width:{:g}", format_ink(shape.stroke, find_colour), shape.size);
  if (shape.dash > 0) style += fmt::format(";stroke-dasharray:{}", fmt::join(dash_pattern(shape.dash), " "));
  std::string form;
  if (shape.kind == Shape::Kind::circle) {
    form =
        fmt::format(R"(circle cx="{:.1f}" cy="{:.1f}" r="{:g}")", shape.points[0].x, shape.points[0].y, shape.radius);
  } else {
    form = shape.kind == Shape::Kind::polygon ? "polygon points=\"" : "polyline points=\"";
    for (const Position& point : shape.points) form += fmt::format("{:.1f},{:.1f} ", point.x, point.y);
    form.back() = '"';
  }
  if (shape.tip.empty()) return fmt::format("<{} style=\"{}\"/>", form, style);
  const std::string name = form.substr(0, form.find(' '));
  return fmt::format("<{} style=\"{}\"><title>{}</title></{}>", form, style, escaped(shape.tip), name);
}

std::string svg(const Drawing& drawing, const std::string& attributes, ColourOf find_colour,
                const std::string& background = {}) {
  std::string text = fmt::format(R"(<svg{} viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">)", attributes,
                                 drawing.width, drawing.height, escaped(drawing.description)) +
                     background;
  for (const Shape& shape : drawing.shapes) text += format_element(shape, find_colour);
  return text + "</svg>\n";
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\t') result += c;
    }
  }
  return result;
}

std::string svg_element(const Drawing& drawing) { return svg(drawing, "", name_variable); }

std::string svg_file(const Drawing& drawing) {
  return svg(drawing,
             fmt::format(" xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
                         "font-family=\"Helvetica,Arial,sans-serif\"",
                         drawing.width, drawing.height),
             get_light_colour, R"(<rect width="100%" height="100%" fill="#ffffff"/>)");
}

}  // namespace ptrain::html
