#include "core/data/image/segmentation_files.h"

#include "core/data/file_bytes.h"
#include "core/data/image/image_list.h"
#include "core/data/sources.h"
#include "core/data/split.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <fstream>

namespace ptrain {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Names split_names(Split split) {
  return split == Split::train ? Names{"train", "training"} : Names{"val", "validation", "test"};
}

std::vector<fs::path> images_below(const fs::path& folder) {
  std::vector<fs::path> images;
  walk_folder(folder, [&](const fs::directory_entry& entry) {
    if (has_image_suffix(entry.path()) && entry.is_regular_file()) images.push_back(entry.path());
  });
  std::sort(images.begin(), images.end());
  return images;
}

/// Throws where there is no sample, or one without an image or a label map.
SegmentationFiles checked(SegmentationFiles files) {
  if (files.samples.empty()) fail("{}: has no images", files.place.string());
  for (const LabelledImage& one : files.samples) {
    if (!fs::exists(one.image)) fail("{}: no such image, which {} lists", one.image.string(), files.place.string());
    if (!fs::exists(one.labels)) fail("{}: has no label map; expected {}", one.image.string(), one.labels.string());
  }
  return files;
}

struct FolderPair {
  fs::path images, labels;
};

/// The folders of a split; empty where there are none.
FolderPair find_folders(const fs::path& root, Split split) {
  for (const std::string& name : split_names(split)) {
    for (const char* suffix : {"annot", "_labels", "_masks"}) {
      if (fs::is_directory(root / name) && fs::is_directory(root / (name + suffix))) {
        return {root / name, root / (name + suffix)};
      }
    }
    for (const char* labels : {"labels", "masks", "annotations"}) {
      if (fs::is_directory(root / "images" / name) && fs::is_directory(root / labels / name)) {
        return {root / "images" / name, root / labels / name};
      }
    }
  }
  return {};
}

FolderPair require_folders(const fs::path& root, Split split) {
  if (!fs::is_directory(root)) fail("{}: no such directory", root.string());
  FolderPair found = find_folders(root, split);
  if (!found.images.empty()) return found;
  const bool train = split == Split::train;
  const char* const name = train ? "train" : "val";
  fail("{}: has no images with label maps to {} on; expected {}/ and {}annot/, or images/{}/ and labels/{}/{}",
       root.string(), train ? "train" : "evaluate", name, name, name, name,
       train ? "" : ", or data.split.dev, the fraction of train to evaluate on");
}

Names folder_classes(const DataSettings& settings) {
  if (!settings.labels.empty()) return settings.labels;
  if (settings.classes > 0) return numbered_classes(settings.classes);
  fail_usage(
      "data.labels: expected the names of the classes in the order of their numbers, or model.classes, their "
      "number: label maps do not tell them");
}

const Names voc_classes{"background", "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",
                        "car",        "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",
                        "motorbike",  "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};
const Names cityscapes_classes{
    "road", "sidewalk", "building", "wall", "fence", "pole", "traffic light", "traffic sign", "vegetation", "terrain",
    "sky",  "person",   "rider",    "car",  "truck", "bus",  "train",         "motorcycle",   "bicycle"};

}  // namespace

SegmentationFiles list_mask_folder(const DataSettings& settings, Split split) {
  const fs::path root = settings.path;
  const bool held_out = has_dev_split(settings);
  if (const FolderPair other = find_folders(root, Split::eval); held_out && !other.images.empty()) {
    reject_dev_split(other.images);
  }
  const FolderPair folders = require_folders(root, held_out ? Split::train : split);
  SegmentationFiles files{{}, folder_classes(settings), folders.images};
  for (const fs::path& image : images_below(folders.images)) {
    fs::path labels = folders.labels / image.lexically_relative(folders.images);
    files.samples.push_back({image, labels.replace_extension(".png")});
  }
  if (held_out && !files.samples.empty()) {
    const std::vector<std::int32_t> one_class(files.samples.size());
    files.samples = gathered(std::move(files.samples),
                             select_stratified_split(one_class, settings, split, folders.images.string()));
  }
  return checked(std::move(files));
}

SegmentationFiles list_voc(const DataSettings& settings, Split split) {
  const fs::path root = settings.path;
  const fs::path list = root / "ImageSets" / "Segmentation" / (split == Split::train ? "train.txt" : "val.txt");
  if (!fs::exists(list)) {
    fail("{}: not found; expected data.path to hold JPEGImages, SegmentationClass and ImageSets/Segmentation",
         list.string());
  }
  SegmentationFiles files{{}, voc_classes, list};
  std::ifstream lines = open_stream(list);
  for (std::string name; lines >> name;) {
    files.samples.push_back({root / "JPEGImages" / (name + ".jpg"), root / "SegmentationClass" / (name + ".png")});
  }
  return checked(std::move(files));
}

SegmentationFiles list_cityscapes(const DataSettings& settings, Split split) {
  const std::string name = split == Split::train ? "train" : "val";
  const fs::path images = fs::path(settings.path) / "leftImg8bit" / name;
  const fs::path labels = fs::path(settings.path) / "gtFine" / name;
  for (const fs::path& folder : {images, labels}) {
    if (!fs::is_directory(folder)) {
      fail("{}: no such directory; expected data.path to hold leftImg8bit and gtFine", folder.string());
    }
  }
  SegmentationFiles files{{}, cityscapes_classes, images};
  constexpr std::string_view suffix = "_leftImg8bit.png";
  for (const fs::path& image : images_below(images)) {
    std::string file = image.filename().string();
    if (!file.ends_with(suffix)) continue;
    file.replace(file.size() - suffix.size(), suffix.size(), "_gtFine_labelTrainIds.png");
    files.samples.push_back({image, labels / image.lexically_relative(images).parent_path() / file});
  }
  return checked(std::move(files));
}

}  // namespace ptrain
