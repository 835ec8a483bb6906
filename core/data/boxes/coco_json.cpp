// A file is read annotation by annotation: as a document, COCO's half a gigabyte would take ten times its size.
#include "core/data/boxes/coco_json.h"

#include "core/data/boxes/rle.h"
#include "core/data/class_names.h"
#include "core/data/image/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

namespace ptrain {
namespace {

using nlohmann::json;

/// An annotation whose image and category are not looked up yet.
struct Annotation {
  std::int64_t image = 0, category = 0, number = 0;
  AnnotatedObject object;
  ImageSize mask;  // of run lengths
  std::vector<Polygon> polygons;
};

struct Document {
  std::map<std::int64_t, AnnotatedImage> images;
  std::map<std::int64_t, std::string> categories;
  std::vector<Annotation> annotations;
};

class CocoReader {
 public:
  CocoReader(std::istream& file, const std::string& name, ObjectMasks masks) : name_(name), masks_(masks) {
    try {
      const json rest = json::parse(
          file, [this](int depth, json::parse_event_t event, json& parsed) { return keeps(depth, event, parsed); });
      if (!rest.is_object()) fail("{}: expected an object with images, annotations and categories", name_);
    } catch (const json::exception& error) {
      fail("{}: is no valid JSON: {}", name_, error.what());
    }
    for (const char* section : {"images", "annotations", "categories"}) {
      if (!sections_.contains(section)) fail("{}: has no \"{}\"; is it a file of annotations of COCO?", name_, section);
    }
  }

  Document document;

 private:
  /// Takes the items of the document's lists as they are read; what remains of it is small.
  bool keeps(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > most_depth) fail("{}: is nested more than {} deep", name_, most_depth);
    if (event == json::parse_event_t::key && depth == 1) {
      section_ = parsed.get<std::string>();
      sections_[section_] = 0;
    }
    if (event != json::parse_event_t::object_end || depth != 2) return true;
    const std::int64_t number = sections_[section_]++;
    if (section_ == "images") add_image(parsed, fmt::format("{}: image {}", name_, number));
    if (section_ == "categories") add_category(parsed, fmt::format("{}: category {}", name_, number));
    if (section_ == "annotations") add_annotation(parsed, number, fmt::format("{}: annotation {}", name_, number));
    return false;
  }

  static std::string shown(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60);
  }

  static std::int64_t read_id(const json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) fail("{}: has no {}", where, key);
    if (!found->is_number_integer() || *found < 0)
      fail("{}: {}: expected a whole number, got {}", where, key, shown(*found));
    return found->get<std::int64_t>();
  }

  static std::string read_text(const json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) fail("{}: {}: expected text", where, key);
    return found->get<std::string>();
  }

  void add_image(const json& image, const std::string& where) {
    AnnotatedImage made;
    made.file = read_text(image, "file_name", where);
    const std::int64_t width = read_id(image, "width", where), height = read_id(image, "height", where);
    constexpr std::int64_t most_side = 1 << 20;
    if (width < 1 || height < 1 || width > most_side || height > most_side) {
      fail("{}: expected a width and height above 0, got {}x{}", where, width, height);
    }
    made.width = static_cast<int>(width);
    made.height = static_cast<int>(height);
    const std::int64_t id = made.id = read_id(image, "id", where);
    if (!document.images.emplace(id, std::move(made)).second) fail("{}: another image has the id {}", where, id);
  }

  void add_category(const json& category, const std::string& where) {
    constexpr std::int64_t most_id = 100'000;
    const std::int64_t id = read_id(category, "id", where);
    if (id >= most_id) fail("{}: id: expected one below {}, got {}", where, most_id, id);
    const std::string name = compose_class_name(read_text(category, "name", where));
    for (const auto& [other, taken] : document.categories) {
      if (other == id) fail("{}: another category has the id {}", where, id);
      if (taken == name) fail("{}: name: category {} is called {} too", where, other, name);
    }
    document.categories.emplace(id, name);
  }

  void add_annotation(const json& annotation, std::int64_t number, const std::string& where) {
    Annotation made{
        read_id(annotation, "image_id", where), read_id(annotation, "category_id", where), number, {}, {}, {}};
    const auto box = annotation.find("bbox");
    const bool is_box = box != annotation.end() && box->is_array() && box->size() == 4 &&
                        std::ranges::all_of(*box, [](const json& one) { return one.is_number(); });
    if (!is_box) {
      fail("{}: bbox: expected [x, y, width, height], got {}", where, box == annotation.end() ? "none" : shown(*box));
    }
    for (std::size_t i = 0; i < 4; ++i) made.object.box[i] = (*box)[i].get<double>();
    const auto crowd = annotation.find("iscrowd");
    made.object.crowd = crowd != annotation.end() && (*crowd == 1 || *crowd == true);
    const auto area = annotation.find("area");
    if (area != annotation.end() && !area->is_number())
      fail("{}: area: expected a number, got {}", where, shown(*area));
    made.object.area = area != annotation.end() ? area->get<double>() : made.object.box[2] * made.object.box[3];
    const auto mask = annotation.find("segmentation");
    if (mask != annotation.end() && mask->is_object()) {
      const RunLengths runs = parse_rle(*mask, where);
      made.mask = ImageSize(runs.height, runs.width);
      if (masks_ == ObjectMasks::read) made.object.mask = format_run_lengths(runs.counts);
    } else if (mask != annotation.end() && mask->is_array()) {
      for (const json& polygon : *mask) {
        require_polygon(polygon, where);
        if (masks_ == ObjectMasks::read) made.polygons.push_back(polygon.get<Polygon>());
      }
    }
    if (masks_ == ObjectMasks::read && made.object.mask.empty() && made.polygons.empty()) {
      fail("{}: has no segmentation; a model without masks learns from boxes alone", where);
    }
    document.annotations.push_back(made);
  }

  static void require_polygon(const json& polygon, const std::string& where) {
    const bool is_polygon = polygon.is_array() && polygon.size() % 2 == 0 &&
                            std::ranges::all_of(polygon, [](const json& one) { return one.is_number(); });
    if (!is_polygon) fail("{}: segmentation: expected polygons [x, y, x, y, ...], got {}", where, shown(polygon));
  }

  static constexpr int most_depth = 64;

  const std::string& name_;
  ObjectMasks masks_;
  std::string section_;
  std::map<std::string, std::int64_t> sections_;  // items of each so far
};

/// The classes of categories, whose names and ids `made` gets.
std::map<std::int64_t, std::int32_t> number_classes(const Document& document, int classes, AnnotatedImages& made) {
  std::map<std::int64_t, std::int32_t> labels;
  const std::int64_t largest = document.categories.empty() ? 0 : document.categories.rbegin()->first;
  const bool from_one = classes == largest && !document.categories.contains(0);
  if (document.categories.empty() || (classes <= largest && !from_one)) {
    for (const auto& [id, name] : document.categories) {
      labels[id] = static_cast<std::int32_t>(made.class_names.size());
      made.class_names.push_back(name);
      made.category_ids.push_back(id);
    }
    return labels;
  }
  for (int label = 0; label < classes; ++label) {
    const int id = from_one ? label + 1 : label;
    const auto category = document.categories.find(id);
    const bool is_used = category != document.categories.end();
    made.class_names.push_back(is_used ? category->second : fmt::format("unused {}", id));
    if (is_used) labels[id] = label;
    if (from_one) made.category_ids.push_back(id);
  }
  return labels;
}

/// The mask of polygons as text. Their size is bounded, since each of their pixels is visited.
std::string draw_polygons(const std::vector<Polygon>& polygons, const AnnotatedImage& image, const std::string& where) {
  constexpr double margin = 4;  // times the image's longer side
  if (static_cast<std::uint64_t>(image.width) * static_cast<std::uint64_t>(image.height) > most_pixels) {
    fail("{}: segmentation: the image has {}x{} px, masks are of up to {} px", where, image.width, image.height,
         most_pixels);
  }
  const double most = margin * std::max(image.width, image.height);
  for (const Polygon& polygon : polygons) {
    for (const double one : polygon) {
      if (!(std::abs(one) <= most)) fail("{}: segmentation: a corner at {} px is far outside the image", where, one);
    }
  }
  return format_run_lengths(rasterize(polygons, image.height, image.width).counts);
}

}  // namespace

AnnotatedImages parse_coco(std::istream& file, const std::string& name, const std::string& folder, int classes,
                           ObjectMasks masks) {
  Document document = std::move(CocoReader(file, name, masks).document);
  if (document.images.empty()) fail("{}: has no images", name);
  if (document.categories.empty()) fail("{}: has no categories", name);
  AnnotatedImages made;
  const std::map<std::int64_t, std::int32_t> labels = number_classes(document, classes, made);
  for (Annotation& one : document.annotations) {
    const auto image = document.images.find(one.image);
    if (image == document.images.end()) {
      fail("{}: annotation {}: image_id {} is none of the images'", name, one.number, one.image);
    }
    const auto label = labels.find(one.category);
    if (label == labels.end()) {
      fail("{}: annotation {}: category_id {} is none of the categories'", name, one.number, one.category);
    }
    if (one.mask.is_given() && one.mask != ImageSize(image->second.height, image->second.width)) {
      fail("{}: annotation {}: segmentation: is for {} px, the image has {}", name, one.number, one.mask,
           ImageSize(image->second.height, image->second.width));
    }
    one.object.label = label->second;
    if (!one.polygons.empty()) {
      const std::string where = fmt::format("{}: annotation {}", name, one.number);
      one.object.mask = draw_polygons(one.polygons, image->second, where);
      one.polygons.clear();
    }
    image->second.objects.push_back(std::move(one.object));
  }
  for (auto& [id, image] : document.images) {
    image.file = (std::filesystem::path(folder) / image.file).string();
    made.images.push_back(std::move(image));
  }
  return made;
}

}  // namespace ptrain
