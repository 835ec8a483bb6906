// PASCAL VOC's folders: JPEGImages, Annotations and ImageSets/Main.
#include "core/base/counted.h"
#include "core/data/boxes/box_dataset.h"
#include "core/data/boxes/voc_xml.h"
#include "core/data/class_names.h"
#include "core/data/file_bytes.h"
#include "core/data/sources.h"
#include "core/data/split.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// The usual list of a split's images; empty where there is none.
fs::path find_list(const fs::path& root, Split split) {
  const std::vector<std::string> names =
      split == Split::train ? std::vector<std::string>{"train", "trainval"} : std::vector<std::string>{"val", "test"};
  for (const std::string& name : names) {
    if (fs::path path = root / "ImageSets" / "Main" / (name + ".txt"); fs::exists(path)) return path;
  }
  return {};
}

/// The list that the settings name, or the usual one.
fs::path choose_list(const DataSettings& settings, Split split) {
  const std::string& named = split == Split::train ? settings.train_file : settings.dev_file;
  if (named.ends_with(".txt")) return fs::path(settings.path) / named;
  if (fs::path found = find_list(settings.path, split); !found.empty()) return found;
  const bool train = split == Split::train;
  fail("{}: has no list of images for {}: expected ImageSets/Main/{}.txt, or {}", settings.path,
       train ? "training" : "evaluation", train ? "train" : "val",
       train ? "data.train_file" : "data.dev_file, or data.split.dev, the fraction of train to evaluate on");
}

/// The first word of each line.
std::vector<std::string> read_list(const fs::path& path) {
  std::ifstream file = open_stream(path);
  std::vector<std::string> names;
  std::set<std::string> known;
  for (std::string line; std::getline(file, line);) {
    std::string name;
    if (!(std::istringstream(line) >> name)) continue;
    if (!known.insert(name).second) fail("{}: names {} twice", path.string(), name);
    names.push_back(name);
  }
  if (names.empty()) fail("{}: names no image", path.string());
  return names;
}

struct VocImage {
  fs::path image, annotations;
  VocAnnotation annotation;
  std::int64_t number = 0;  // in its list, from 1
};

fs::path find_image(const fs::path& root, const std::string& name, const VocAnnotation& annotation) {
  const fs::path folder = root / "JPEGImages";
  fs::path usual = folder / (name + ".jpg");
  if (fs::exists(usual) || annotation.file_name.empty()) return usual;
  fs::path given = folder / fs::path(annotation.file_name).filename();
  return fs::exists(given) ? given : usual;
}

std::vector<VocImage> read_images(const fs::path& root, const fs::path& list) {
  std::vector<VocImage> images;
  std::vector<std::uint8_t> bytes;
  for (const std::string& name : read_list(list)) {
    const fs::path path = root / "Annotations" / (name + ".xml");
    if (!fs::exists(path)) fail("{}: names {}, but there is no {}", list.string(), name, path.string());
    read_file(path, bytes);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    VocAnnotation annotation = parse_voc(text, path.string());
    fs::path image = find_image(root, name, annotation);
    const auto number = static_cast<std::int64_t>(images.size()) + 1;
    images.push_back({std::move(image), path, std::move(annotation), number});
  }
  return images;
}

std::vector<std::string> collect_class_names(const std::vector<VocImage>& images) {
  std::set<std::string> names;
  for (const VocImage& image : images) {
    for (const VocObject& one : image.annotation.objects) names.insert(one.name);
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  sort_class_names(sorted);
  return sorted;
}

/// Notes on boxes that count from 0 and on images that are missing.
std::vector<std::string> collect_notes(const std::vector<VocImage>& images, const fs::path& list) {
  const auto begins_at_0 = [](const VocObject& one) { return one.box[0] == -1 || one.box[1] == -1; };
  const VocImage* first_missing = nullptr;
  std::int64_t missing = 0, from_0 = 0;
  for (const VocImage& image : images) {
    from_0 += std::ranges::count_if(image.annotation.objects, begins_at_0);
    if (fs::exists(image.image)) continue;
    if (missing++ == 0) first_missing = &image;
  }
  std::vector<std::string> notes;
  if (from_0 > 0) {
    notes.push_back(fmt::format("{}: {} with xmin or ymin 0, but VOC counts pixels from 1: boxes may be one pixel off",
                                list.string(), counted(from_0, "object")));
  }
  if (first_missing != nullptr) {
    const std::string& given = first_missing->annotation.file_name;
    notes.push_back(fmt::format("{}: {} missing (first: {} has neither {}{})", list.string(), counted(missing, "image"),
                                first_missing->annotations.string(), first_missing->image.string(),
                                given.empty() ? " nor a <filename>" : fmt::format(" nor its <filename>, {}", given)));
  }
  return notes;
}

AnnotatedImages number_classes(const std::vector<VocImage>& images, std::vector<std::string> names) {
  std::map<std::string, std::int32_t> labels;
  for (const std::string& name : names) labels.emplace(name, static_cast<std::int32_t>(labels.size()));
  AnnotatedImages made;
  made.class_names = std::move(names);
  for (const VocImage& image : images) {
    AnnotatedImage& one = made.images.emplace_back(
        AnnotatedImage{image.image.string(), image.annotation.width, image.annotation.height, {}, image.number});
    for (const VocObject& object : image.annotation.objects) {
      const auto label = labels.find(object.name);
      if (label == labels.end()) {
        fail("{}: the class {} does not occur in the training images", image.annotations.string(), object.name);
      }
      one.objects.push_back({label->second, object.box, object.box[2] * object.box[3], object.difficult});
    }
  }
  return made;
}

}  // namespace

bool holds_voc(const fs::path& root) {
  return !find_list(root, Split::eval).empty() && fs::is_directory(root / "Annotations");
}

std::unique_ptr<Dataset> open_voc(const DataSettings& settings, Split split) {
  require_path(settings, "voc");
  const fs::path list = choose_list(settings, Split::train);
  std::vector<VocImage> images = read_images(settings.path, list);
  std::vector<std::string> names = collect_class_names(images);
  if (names.empty()) fail("{}: none of its images has an object", list.string());
  if (has_dev_split(settings)) {
    if (const fs::path other = find_list(settings.path, Split::eval); !other.empty()) reject_dev_split(other);
    const std::vector<std::int32_t> alike(images.size());
    images = gathered(std::move(images), select_stratified_split(alike, settings, split, list.string()));
  } else if (split == Split::eval) {
    images = read_images(settings.path, choose_list(settings, Split::eval));
  }
  const std::string place = has_dev_split(settings) ? list.string() : choose_list(settings, split).string();
  AnnotatedImages annotated = number_classes(images, std::move(names));
  annotated.notes = collect_notes(images, place);
  return make_box_dataset(std::move(annotated), settings, split, place);
}

}  // namespace ptrain
