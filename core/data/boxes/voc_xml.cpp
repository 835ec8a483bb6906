#include "core/data/boxes/voc_xml.h"

#include "core/base/utf8.h"
#include "core/data/class_names.h"
#include "core/io/atomic_file.h"

#include <pugixml.hpp>

#include <charconv>
#include <cmath>

namespace ptrain {
namespace {

std::string trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
}

std::string read_child_text(const pugi::xml_node& node, const char* name) { return trim(node.child_value(name)); }

/// A number of a box or size.
double read_number(const pugi::xml_node& node, const char* name, const std::string& where) {
  constexpr double most = 1 << 20;
  const std::string text = read_child_text(node, name);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(std::abs(value) <= most)) {
    fail("{}: {}: expected a number, got {}", where, name, quoted_name(text));
  }
  return value;
}

VocObject read_object(const pugi::xml_node& object, const std::string& where) {
  VocObject made;
  made.name = read_child_text(object, "name");
  if (made.name.empty()) fail("{}: has no name", where);
  if (!is_utf8(made.name)) fail("{}: name: is no UTF-8", where);
  made.name = compose_class_name(made.name);
  made.difficult = read_child_text(object, "difficult") == "1";
  const pugi::xml_node corners = object.child("bndbox");
  if (!corners) fail("{}: has no bndbox", where);
  const double left = read_number(corners, "xmin", where), top = read_number(corners, "ymin", where);
  const double right = read_number(corners, "xmax", where), bottom = read_number(corners, "ymax", where);
  if (right < left) fail("{}: xmax {} is less than xmin {}", where, right, left);
  if (bottom < top) fail("{}: ymax {} is less than ymin {}", where, bottom, top);
  made.box = {left - 1, top - 1, right - left + 1, bottom - top + 1};
  return made;
}

}  // namespace

VocAnnotation parse_voc(std::string_view text, const std::string& name) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) fail("{}: is no valid XML: {} at byte {}", name, parsed.description(), parsed.offset);
  const pugi::xml_node root = document.child("annotation");
  if (!root) fail("{}: has no <annotation>, as files of PASCAL VOC do", name);
  VocAnnotation annotation;
  annotation.file_name = read_child_text(root, "filename");
  if (const pugi::xml_node size = root.child("size")) {
    annotation.width = static_cast<int>(read_number(size, "width", name + ": size"));
    annotation.height = static_cast<int>(read_number(size, "height", name + ": size"));
  }
  for (const pugi::xml_node& object : root.children("object")) {
    annotation.objects.push_back(
        read_object(object, fmt::format("{}: object {}", name, annotation.objects.size() + 1)));
  }
  return annotation;
}

}  // namespace ptrain
