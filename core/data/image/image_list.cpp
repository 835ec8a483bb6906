#include "core/data/image/image_list.h"

#include "core/data/sources.h"
#include "core/data/split.h"

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

fs::path split_directory(const fs::path& root, Split split) {
  if (!fs::is_directory(root)) fail("{}: no such directory", root.string());
  if (fs::path found = find_split(root, split); !found.empty()) return found;
  if (holds_cifar(root)) {
    fail("{}: holds CIFAR's binary form, which data.source cifar reads, and no folders of images", root.string());
  }
  const bool train = split == Split::train;
  fail("{}: has no directory {}; expected {}/train/<class>/ and {}/val/<class>/ (or test) with JPEG or PNG images{}",
       root.string(), train ? "train" : "val or test", root.string(), root.string(),
       train ? "" : ", or data.split.dev, the fraction of train to evaluate on");
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

bool is_sample(const fs::directory_entry& entry, SampleFile form) {
  if (entry.path().filename().string().starts_with('.')) return false;
  switch (form) {
    case SampleFile::image:
      return has_image_suffix(entry.path().filename());
    case SampleFile::clip:
      return entry.is_directory();
  }
  return false;
}

void add_class(const std::string& name, SampleFile form, ImageList& list) {
  const auto found = std::lower_bound(list.class_names.begin(), list.class_names.end(), name);
  if (found == list.class_names.end() || *found != name) {
    fail("{}: class {} does not occur in the training split", (list.directory / name).string(), name);
  }
  const auto label = static_cast<std::int32_t>(found - list.class_names.begin());
  const auto first = static_cast<std::ptrdiff_t>(list.files.size());
  for (const fs::directory_entry& entry : fs::directory_iterator(list.directory / name)) {
    if (is_sample(entry, form)) list.files.push_back({entry.path().filename().string(), label});
  }
  std::sort(list.files.begin() + first, list.files.end(),
            [](const ImageList::File& a, const ImageList::File& b) { return a.name < b.name; });
}

}  // namespace

bool has_image_suffix(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix == ".jpg" || suffix == ".jpeg" || suffix == ".png";
}

fs::path find_split(const fs::path& root, Split split) {
  const std::vector<std::string> names =
      split == Split::train ? std::vector<std::string>{"train"} : std::vector<std::string>{"val", "test", "validation"};
  for (const std::string& name : names) {
    if (fs::is_directory(root / name)) return root / name;
  }
  return {};
}

fs::path ImageList::full_path(const File& file) const {
  return directory / class_names[static_cast<std::size_t>(file.label)] / file.name;
}

ImageList list_images(const fs::path& root, Split split, SampleFile form) {
  ImageList list;
  list.directory = split_directory(root, split);
  list.class_names = class_directories(split_directory(root, Split::train));
  for (const std::string& name : class_directories(list.directory)) add_class(name, form, list);
  if (list.files.empty()) {
    fail("{}: has no samples; expected {}/<class>/{}*.jpg, .jpeg or .png", list.directory.string(),
         list.directory.string(), form == SampleFile::clip ? "<clip>/" : "");
  }
  return list;
}

ImageList list_part(const DataSettings& settings, Split split, SampleFile form) {
  if (!has_dev_split(settings)) return list_images(settings.path, split, form);
  if (const fs::path other = find_split(settings.path, Split::eval); !other.empty()) reject_dev_split(other);
  ImageList list = list_images(settings.path, Split::train, form);
  std::vector<std::int32_t> labels;
  for (const ImageList::File& file : list.files) labels.push_back(file.label);
  list.files =
      gathered(std::move(list.files), select_stratified_split(labels, settings, split, list.directory.string()));
  return list;
}

}  // namespace ptrain
