#include "core/analysis/html/pdf.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace ptrain::html {
namespace {

/// A character in WinAnsi encoding; "?" where it has none.
char to_winansi(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 32 || first > 126 ? '?' : character[0];
  if (character.size() != 2 || (first != 0xc2 && first != 0xc3)) return '?';
  return static_cast<char>((first << 6U) | (static_cast<unsigned char>(character[1]) & 0x3fU));
}

/// A PDF string literal, in parentheses.
std::string format_literal(const std::string& text) {
  std::string result = "(";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    const char c = to_winansi(std::string_view(text).substr(at, bytes));
    if (c == '(' || c == ')' || c == '\\') result += '\\';
    result += c;
    at += bytes;
  }
  return result + ")";
}

/// "0.00 0.45 0.70" of "#0072b2"
std::string format_components(Ink ink) {
  const long rgb = std::strtol(ink_colours[static_cast<std::size_t>(ink)].light + 1, nullptr, 16);
  return fmt::format("{:.3f} {:.3f} {:.3f}", static_cast<double>(rgb >> 16) / 255,
                     static_cast<double>(rgb >> 8 & 255) / 255, static_cast<double>(rgb & 255) / 255);
}

/// The outline of a shape; a circle consists of four Bezier curves.
std::string format_outline(const Shape& shape) {
  if (shape.kind == Shape::Kind::circle) {
    const auto [x, y] = shape.points[0];
    const double r = shape.radius, k = 0.5523 * r;
    return fmt::format(
        "{:.2f} {:.2f} m {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c "
        "{:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c h ",
        x + r, y, x + r, y + k, x + k, y + r, x, y + r, x - k, y + r, x - r, y + k, x - r, y, x - r, y - k, x - k,
        y - r, x, y - r, x + k, y - r, x + r, y - k, x + r, y);
  }
  std::string text;
  for (std::size_t i = 0; i < shape.points.size(); ++i) {
    text += fmt::format("{:.2f} {:.2f} {} ", shape.points[i].x, shape.points[i].y, i == 0 ? "m" : "l");
  }
  return shape.kind == Shape::Kind::polygon ? text + "h " : text;
}

Position halfway(const Position& a, const Position& b) { return {(a.x + b.x) / 2, (a.y + b.y) / 2}; }

/// A closed curve of quadratic splines, as cubic ones.
std::string format_contour(const OutlineFont::Contour& contour) {
  const std::size_t count = contour.size();
  if (count < 2) return "";
  std::vector<OutlineFont::OutlinePoint> points;  // with those on the curve between two control points
  for (std::size_t i = 0; i < count; ++i) {
    points.push_back(contour[i]);
    const auto& next = contour[(i + 1) % count];
    if (!contour[i].on_curve && !next.on_curve) points.push_back({halfway(contour[i].at, next.at), true});
  }
  const auto first = std::ranges::find(points, true, &OutlineFont::OutlinePoint::on_curve);
  if (first == points.end()) return "";
  std::rotate(points.begin(), first, points.end());
  points.push_back(points.front());
  Position at = points.front().at;
  std::string text = fmt::format("{:.4f} {:.4f} m ", at.x, at.y);
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].on_curve) {
      at = points[i].at;
      text += fmt::format("{:.4f} {:.4f} l ", at.x, at.y);
      continue;
    }
    const Position control = points[i].at, end = points[++i].at;
    text +=
        fmt::format("{:.4f} {:.4f} {:.4f} {:.4f} {:.4f} {:.4f} c ", (at.x + 2 * control.x) / 3,
                    (at.y + 2 * control.y) / 3, (end.x + 2 * control.x) / 3, (end.y + 2 * control.y) / 3, end.x, end.y);
    at = end;
  }
  return text + "h ";
}

/// A line of text `width` wide that begins at `start`.
std::string format_outlines(const Shape& shape, const OutlineFont& font, const Position& start, double width) {
  const double own = font.width(shape.content) * shape.size;
  if (own <= 0) return "";
  std::string text = fmt::format("q {:.4f} 0 0 {:g} {:.2f} {:.2f} cm {} rg ", shape.size * width / own, -shape.size,
                                 start.x, start.y, format_components(shape.fill));
  for (const OutlineFont::Contour& contour : font.outline(shape.content)) text += format_contour(contour);
  return text + "f Q\n";
}

std::string format_shape(const Shape& shape, const OutlineFonts* fonts) {
  if (shape.kind == Shape::Kind::text) {
    const double width = text_width(shape.content, shape.size, shape.bold);
    const double shift = shape.anchor == Anchor::start ? 0 : shape.anchor == Anchor::middle ? width / 2 : width;
    if (fonts != nullptr) {
      return format_outlines(shape, shape.bold ? fonts->bold : fonts->regular,
                             {shape.points[0].x - shift, shape.points[0].y}, width);
    }
    return fmt::format("BT /{} {:g} Tf {} rg 1 0 0 -1 {:.2f} {:.2f} Tm {} Tj ET\n", shape.bold ? "B" : "R", shape.size,
                       format_components(shape.fill), shape.points[0].x - shift, shape.points[0].y,
                       format_literal(shape.content));
  }
  std::string text;
  const bool filled = shape.fill != Ink::none, stroked = shape.stroke != Ink::none;
  if (filled) text += format_components(shape.fill) + " rg ";
  if (stroked) {
    text += fmt::format("{} RG {:g} w [{}] 0 d ", format_components(shape.stroke), shape.size,
                        fmt::join(dash_pattern(shape.dash), " "));
  }
  text += format_outline(shape) + (filled && stroked ? "B\n" : filled ? "f\n" : "S\n");
  return shape.faint ? "/F gs " + text + "/O gs\n" : text;
}

}  // namespace

std::optional<OutlineFonts> OutlineFonts::find() {
  std::optional<OutlineFont> regular = OutlineFont::find(false), bold = OutlineFont::find(true);
  if (!regular || !bold) return std::nullopt;
  return OutlineFonts{*std::move(regular), *std::move(bold)};
}

std::string pdf_file(const Drawing& drawing, const OutlineFonts* fonts) {
  constexpr double point = 0.75;
  std::string content = fmt::format("{0:g} 0 0 -{0:g} 0 {1:.2f} cm 1 j\n", point, point * drawing.height);
  for (const Shape& shape : drawing.shapes) content += format_shape(shape, fonts);
  const auto font = [](const std::string& name) {
    return "<< /Type /Font /Subtype /Type1 /BaseFont /" + name + " /Encoding /WinAnsiEncoding >>";
  };
  const std::string named = fonts == nullptr ? "/Font << /R 5 0 R /B 6 0 R >> " : "";
  std::vector<std::string> objects = {
      "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      fmt::format("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {:.2f} {:.2f}] /Contents 4 0 R "
                  "/Resources << {}/ExtGState << /F << /ca 0.2 >> /O << /ca 1 >> >> >> >>",
                  point * drawing.width, point * drawing.height, named),
      fmt::format("<< /Length {} >>\nstream\n{}endstream", content.size(), content)};
  if (fonts == nullptr) objects.insert(objects.end(), {font("Helvetica"), font("Helvetica-Bold")});
  std::string file = "%PDF-1.4\n";
  std::string table = fmt::format("xref\n0 {}\n0000000000 65535 f \n", objects.size() + 1);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    table += fmt::format("{:010} 00000 n \n", file.size());
    file += fmt::format("{} 0 obj\n{}\nendobj\n", i + 1, objects[i]);
  }
  return fmt::format("{}{}trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{}\n%%EOF\n", file, table, objects.size() + 1,
                     file.size());
}

}  // namespace ptrain::html
