// COCO's folders: annotations in JSON, images beside them.
#include "core/data/boxes/box_dataset.h"
#include "core/data/boxes/coco_json.h"
#include "core/data/sources.h"
#include "core/data/split.h"
#include "core/io/atomic_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// The usual names of a split: COCO's, and those of annotation tools.
std::vector<std::string> list_split_names(Split split) {
  if (split == Split::train) return {"train"};
  return {"val", "valid", "validation", "test"};
}

/// Annotations of a split below `root`; empty where there are none.
fs::path find_annotations(const fs::path& root, Split split) {
  for (const std::string& name : list_split_names(split)) {
    for (const fs::path& path : {root / name / "_annotations.coco.json", root / "annotations" / (name + ".json"),
                                 root / (name + ".json"), root / name / "annotations.json"}) {
      if (fs::exists(path)) return path;
    }
    std::vector<fs::path> found;
    if (!fs::is_directory(root / "annotations")) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(root / "annotations")) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with("instances_" + name) && file.ends_with(".json")) found.push_back(entry.path());
    }
    if (found.empty()) continue;
    return *std::max_element(found.begin(), found.end());  // of several years, the last
  }
  return {};
}

/// The file that the settings name, or the usual one; empty where there is none.
fs::path find_annotations(const DataSettings& settings, Split split) {
  const std::string& named = split == Split::train ? settings.train_file : settings.dev_file;
  return named.ends_with(".json") ? fs::path(settings.path) / named : find_annotations(settings.path, split);
}

fs::path choose_annotations(const DataSettings& settings, Split split) {
  if (fs::path found = find_annotations(settings, split); !found.empty()) return found;
  const bool train = split == Split::train;
  fail("{}: has no annotations of COCO's form for {}: expected annotations/instances_{}*.json, {}.json or {}",
       settings.path, train ? "training" : "evaluation", list_split_names(split).front(),
       list_split_names(split).front(),
       train ? "data.train_file" : "data.dev_file, or data.split.dev, the fraction of train to evaluate on");
}

/// The folder of the images that a file annotates: one of the usual ones that has some of the first images.
fs::path find_images(const fs::path& root, const fs::path& annotations, const AnnotatedImages& annotated) {
  const std::string stem = annotations.stem().string();
  const std::string split = stem.substr(stem.find('_') + 1);  // instances_val2017: val2017
  const std::vector<fs::path> folders{root / split,    root / "images" / split,   annotations.parent_path() / "images",
                                      root / "images", annotations.parent_path(), root};
  constexpr std::size_t tried = 5;
  const auto first = std::span(annotated.images).first(std::min(tried, annotated.images.size()));
  for (const fs::path& folder : folders) {
    if (std::ranges::any_of(first, [&](const AnnotatedImage& one) { return fs::exists(folder / one.file); }))
      return folder;
  }
  std::vector<std::string> names;
  for (const fs::path& folder : folders) names.push_back(folder.string());
  fail("{}: its image {} is in none of {}", annotations.string(), first.front().file, fmt::join(names, ", "));
}

AnnotatedImages read_annotations(const DataSettings& settings, const fs::path& path) {
  std::ifstream file = open_stream(path);
  const ObjectMasks masks = wants_masks(settings.targets) ? ObjectMasks::read : ObjectMasks::skip;
  AnnotatedImages annotated = parse_coco(file, path.string(), "", settings.classes, masks);
  const fs::path folder = find_images(settings.path, path, annotated);
  for (AnnotatedImage& image : annotated.images) image.file = (folder / image.file).string();
  return annotated;
}

/// That evaluation has the categories of training, whose annotations may be absent.
void require_training_categories(const DataSettings& settings, const AnnotatedImages& annotated, const fs::path& path) {
  const fs::path training = find_annotations(settings, Split::train);
  if (training.empty()) return;
  std::ifstream file = open_stream(training);
  const AnnotatedImages other = parse_coco(file, training.string(), "", settings.classes);
  if (other.class_names == annotated.class_names) return;
  fail("{}: has the categories {}, {} has {}", path.string(), listed(annotated.class_names), training.string(),
       listed(other.class_names));
}

}  // namespace

bool holds_coco(const fs::path& root) { return !find_annotations(root, Split::eval).empty(); }

std::unique_ptr<Dataset> open_coco(const DataSettings& settings, Split split) {
  require_path(settings, "coco");
  const fs::path path = choose_annotations(settings, has_dev_split(settings) ? Split::train : split);
  AnnotatedImages annotated = read_annotations(settings, path);
  if (has_dev_split(settings)) {
    if (const fs::path other = find_annotations(settings.path, Split::eval); !other.empty()) reject_dev_split(other);
    const std::vector<std::int32_t> alike(annotated.images.size());
    annotated.images =
        gathered(std::move(annotated.images), select_stratified_split(alike, settings, split, path.string()));
  } else if (split == Split::eval) {
    require_training_categories(settings, annotated, path);
  }
  return make_box_dataset(std::move(annotated), settings, split, path.string());
}

}  // namespace ptrain
