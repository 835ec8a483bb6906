// A folder of images, one directory per class: path/train/<class>/*.jpg and path/val/<class>/*.jpg.
#include "core/data/file_bytes.h"
#include "core/data/image_transform.h"
#include "core/data/sources.h"

#include <algorithm>
#include <filesystem>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

bool has_image_suffix(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix == ".jpg" || suffix == ".jpeg" || suffix == ".png";
}

fs::path split_directory(const fs::path& root, Split split) {
  if (!fs::is_directory(root)) fail("{}: no such directory", root.string());
  const std::vector<std::string> names =
      split == Split::train ? std::vector<std::string>{"train"} : std::vector<std::string>{"val", "test", "validation"};
  for (const std::string& name : names) {
    if (fs::is_directory(root / name)) return root / name;
  }
  fail("{}: has no directory {}; expected {}/train/<class>/ and {}/val/<class>/ (or test) with JPEG or PNG images",
       root.string(), split == Split::train ? "train" : "val or test", root.string(), root.string());
}

std::vector<std::string> class_directories(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with('.')) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  if (names.empty())
    fail("{}: has no class directories; expected {}/<class>/*.jpg", directory.string(), directory.string());
  return names;
}

class ImageFolderDataset : public Dataset {
 public:
  ImageFolderDataset(const DataSettings& settings, Split split, int image_size)
      : directory_(split_directory(settings.path, split)),
        transform_(image_size,
                   resolve_augment(settings, split,
                                   image_size > 64 ? Augmentation::random_resized_crop : Augmentation::crop_flip)) {
    // Classes are the training split's, so that both splits number them alike.
    info_.class_names = class_directories(split_directory(settings.path, Split::train));
    info_.classes = static_cast<int>(info_.class_names.size());
    if (settings.classes > 0 && settings.classes != info_.classes) {
      fail_usage("{}: has {} class directories, {} classes were asked for", directory_.string(), info_.classes,
                 settings.classes);
    }
    for (const std::string& name : class_directories(directory_)) add_class(name);
    if (files_.empty()) {
      fail("{}: has no samples; expected {}/<class>/*.jpg, .jpeg or .png", directory_.string(), directory_.string());
    }
    info_.kind = DataKind::image;
    info_.image_size = image_size;
    info_.mean = {0.485f, 0.456f, 0.406f};  // ImageNet's, as torchvision uses them
    info_.stddev = {0.229f, 0.224f, 0.225f};
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }

  std::int32_t load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleView& out) const override {
    const File& file = files_[static_cast<std::size_t>(index)];
    const fs::path path = directory_ / info_.class_names[static_cast<std::size_t>(file.label)] / file.name;
    try {
      read_file(path, scratch.file);
    } catch (const Error& error) {
      throw BadSample(error.what());
    }
    transform_.apply_encoded(scratch.file, path.string(), random, scratch, out.pixels);
    return file.label;
  }

 private:
  struct File {
    std::string name;
    std::int32_t label;
  };

  void add_class(const std::string& name) {
    const auto found = std::lower_bound(info_.class_names.begin(), info_.class_names.end(), name);
    if (found == info_.class_names.end() || *found != name) {
      fail("{}: class {} does not occur in the training split", (directory_ / name).string(), name);
    }
    const auto label = static_cast<std::int32_t>(found - info_.class_names.begin());
    const auto first = static_cast<std::ptrdiff_t>(files_.size());
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_ / name)) {
      const fs::path file = entry.path().filename();
      if (has_image_suffix(file) && !file.string().starts_with('.')) files_.push_back({file.string(), label});
    }
    std::sort(files_.begin() + first, files_.end(), [](const File& a, const File& b) { return a.name < b.name; });
  }

  fs::path directory_;
  ImageTransform transform_;
  std::vector<File> files_;
};

}  // namespace

std::unique_ptr<Dataset> open_image_folder(const DataSettings& settings, Split split) {
  require_path(settings, "image_folder");
  return std::make_unique<ImageFolderDataset>(settings, split, settings.image_size > 0 ? settings.image_size : 224);
}

}  // namespace ptrain
