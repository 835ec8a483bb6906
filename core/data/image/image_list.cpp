#include "core/data/image/image_list.h"

#include "core/base/counted.h"
#include "core/data/class_names.h"
#include "core/data/sources.h"
#include "core/data/split.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> image_suffixes{".jpg", ".jpeg", ".jfif", ".png", ".webp", ".bmp"};

std::string to_lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Folders of other forms of data, which are no classes where they hold images.
constexpr std::array<std::string_view, 8> folders_of_other_forms{
    "annotations", "images", "img", "jpegimages", "labels", "leftimg8bit", "masks", "segmentationclass"};

bool holds_images(const fs::path& folder) {
  return std::ranges::any_of(fs::directory_iterator(folder),
                             [](const fs::directory_entry& entry) { return has_image_suffix(entry.path()); });
}

/// Whether `root` has folders of at least two classes, with images in them.
bool holds_classes(const fs::path& root) {
  int classes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || is_left_out(name)) continue;
    if (std::ranges::find(folders_of_other_forms, to_lower(name)) != folders_of_other_forms.end()) return false;
    if (holds_images(entry.path())) ++classes;
  }
  return classes > 1;
}

fs::path split_directory(const fs::path& root, Split split) {
  if (!fs::is_directory(root)) fail("{}: no such directory", root.string());
  fs::path found = split == Split::train ? find_training_folder(root) : find_split(root, split);
  if (!found.empty()) return found;
  if (holds_cifar(root)) {
    fail("{}: holds CIFAR's binary form, which data.source cifar reads, and no folders of images", root.string());
  }
  const bool train = split == Split::train;
  fail("{}: has no directory {}; expected {}/train/<class>/ and {}/val/<class>/ (or test) with images{}", root.string(),
       train ? "train" : "val or test", root.string(), root.string(),
       train ? ", or <class>/ directly" : ", or data.split.dev, the fraction of the training images to evaluate on");
}

/// Counts files that are no samples, by their suffix.
class PassedOver {
 public:
  void add(const fs::directory_entry& entry) {
    const std::string suffix = to_lower(entry.path().extension().string());
    const bool is_special = !entry.is_regular_file() && !entry.is_directory();
    ++counts_[!entry.exists()  ? "links to nothing"
              : is_special     ? "not a regular file"
              : suffix.empty() ? "without a suffix"
                               : suffix];
  }
  void add(const PassedOver& others) {
    for (const auto& [suffix, count] : others.counts_) counts_[suffix] += count;
  }
  bool any() const { return !counts_.empty(); }
  /// "8 .txt, 2 .gif".
  std::string text() const {
    std::vector<std::string> parts;
    for (const auto& [suffix, count] : counts_) parts.push_back(fmt::format("{} {}", count, suffix));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  std::map<std::string, std::int64_t> counts_;
};

/// The folders of a split by the names of their classes, which are composed.
using ClassFolders = std::map<std::string, fs::path>;

/// Adds to `notes` which other things in `directory` are left out.
ClassFolders class_folders(const fs::path& directory, std::vector<std::string>& notes) {
  ClassFolders folders;
  std::int64_t loose = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory()) {
      loose += has_image_suffix(name) && !name.starts_with('.') ? 1 : 0;
    } else if (is_left_out(name)) {
      std::error_code unreadable;
      if (!fs::is_empty(entry.path(), unreadable)) notes.push_back(fmt::format("{}: left out", entry.path().string()));
    } else if (const auto [same, is_new] = folders.emplace(compose_class_name(name), entry.path()); !is_new) {
      fail("{}: has the folder {} twice, in two Unicode forms (NFC and NFD)", directory.string(), same->first);
    }
  }
  if (folders.empty()) {
    fail("{}: has no class directories; expected {}/<class>/*.jpg", directory.string(), directory.string());
  }
  if (loose > 0) {
    notes.push_back(fmt::format("{}: {} in no class left out", directory.string(), counted(loose, "image")));
  }
  std::sort(notes.begin(), notes.end());
  return folders;
}

/// The names of the classes in order; a note where that is not the order of the alphabet.
std::vector<std::string> class_names(const ClassFolders& folders, const fs::path& directory,
                                     std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const auto& [name, folder] : folders) names.push_back(name);
  const std::vector<std::string> by_alphabet = names;
  sort_class_names(names);
  if (std::string alike = describe_alike(names, directory.string()); !alike.empty()) notes.push_back(std::move(alike));
  if (names != by_alphabet) {
    notes.push_back(
        fmt::format("{}: the classes are whole numbers and in their order: {}", directory.string(), listed(names)));
  }
  return names;
}

/// The samples in a class folder, as paths below it.
std::vector<std::string> find_samples(const fs::path& folder, SampleFile form, PassedOver& passed_over) {
  std::vector<std::string> samples;
  const auto add = [&](const fs::path& path) { samples.push_back(path.lexically_relative(folder).string()); };
  if (form == SampleFile::image) {
    walk_folder(folder, [&](const fs::directory_entry& entry) {
      if (entry.is_directory()) return;
      const bool is_sample = has_image_suffix(entry.path()) && entry.is_regular_file();
      is_sample ? add(entry.path()) : passed_over.add(entry);
    });
  } else {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (is_left_out(entry.path().filename().string())) continue;
      entry.is_directory() ? add(entry.path()) : passed_over.add(entry);
    }
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

/// Visits `folder`, where `above` are the folders that contain it.
void walk(const fs::path& folder, std::vector<fs::path>& above,
          const std::function<void(const fs::directory_entry&)>& visit) {
  std::error_code error;
  const fs::path place = fs::canonical(folder, error);
  if (std::ranges::find(above, place) != above.end()) {
    fail("{}: links to {}, a folder that contains it, so that samples would repeat without end: remove the link",
         folder.string(), place.string());
  }
  fs::directory_iterator entry(folder, error);
  if (error) fail("{}: cannot read the folder: {}", folder.string(), error.message());
  above.push_back(place);
  for (; entry != fs::directory_iterator(); ++entry) {
    if (is_left_out(entry->path().filename().string())) continue;
    visit(*entry);
    if (entry->is_directory(error)) walk(entry->path(), above, visit);
  }
  above.pop_back();
}

}  // namespace

bool has_image_suffix(const fs::path& path) {
  return std::ranges::find(image_suffixes, to_lower(path.extension().string())) != image_suffixes.end();
}

bool is_left_out(const std::string& name) {
  return name.starts_with('.') || name == "__MACOSX" || name == "@eaDir" || name == "lost+found";
}

void walk_folder(const fs::path& folder, const std::function<void(const fs::directory_entry&)>& visit) {
  std::vector<fs::path> above;
  std::error_code ignored;
  for (fs::path place : {fs::absolute(folder, ignored).lexically_normal(), fs::canonical(folder, ignored)}) {
    if (!place.has_filename()) place = place.parent_path();  // it ended with a slash
    while (place.has_relative_path()) {
      place = place.parent_path();
      above.push_back(fs::canonical(place, ignored));
    }
  }
  walk(folder, above, visit);
}

fs::path find_split(const fs::path& root, Split split) {
  const std::vector<std::string> names =
      split == Split::train ? std::vector<std::string>{"train"} : std::vector<std::string>{"val", "test", "validation"};
  for (const std::string& name : names) {
    if (fs::is_directory(root / name)) return root / name;
  }
  return {};
}

fs::path find_training_folder(const fs::path& root) {
  if (fs::path found = find_split(root, Split::train); !found.empty()) return found;
  return find_split(root, Split::eval).empty() && holds_classes(root) ? root : fs::path();
}

fs::path ImageList::full_path(const File& file) const { return directory / file.name; }

ImageList list_images(const fs::path& root, Split split, SampleFile form) {
  ImageList list;
  const fs::path training = split_directory(root, Split::train);
  list.directory = split_directory(root, split);
  const ClassFolders folders = class_folders(list.directory, list.notes);
  std::vector<std::string> ignored;  // the training split has these notes
  list.class_names = split == Split::train ? class_names(folders, training, list.notes)
                                           : class_names(class_folders(training, ignored), training, ignored);
  std::map<std::string, std::int32_t> labels;
  for (const std::string& name : list.class_names) labels.emplace(name, static_cast<std::int32_t>(labels.size()));
  PassedOver passed_over;
  for (const auto& [name, folder] : folders) {
    const auto label = labels.find(name);
    if (label == labels.end()) fail("{}: class {} does not occur in the training split", folder.string(), name);
    PassedOver others;
    const std::vector<std::string> samples = find_samples(folder, form, others);
    if (samples.empty()) {
      fail("{}: the class has no samples{}; expected {}{} there, or no such folder", folder.string(),
           others.any() ? fmt::format(", but {}", others.text()) : "", form == SampleFile::clip ? "<clip>/" : "",
           image_files);
    }
    for (const std::string& sample : samples)
      list.files.push_back({(folder.filename() / sample).string(), label->second});
    passed_over.add(others);
  }
  if (passed_over.any()) {
    list.notes.push_back(fmt::format("{}: passed over {}; {} are read", list.directory.string(), passed_over.text(),
                                     form == SampleFile::clip ? "folders" : image_files));
  }
  std::stable_sort(list.files.begin(), list.files.end(),
                   [](const ImageList::File& a, const ImageList::File& b) { return a.label < b.label; });
  return list;
}

ImageList list_part(const DataSettings& settings, Split split, SampleFile form) {
  if (!has_dev_split(settings)) return list_images(settings.path, split, form);
  if (const fs::path other = find_split(settings.path, Split::eval); !other.empty()) reject_dev_split(other);
  ImageList list = list_images(settings.path, Split::train, form);
  if (split == Split::eval) list.notes.clear();  // the training split has them
  std::vector<std::int32_t> labels;
  for (const ImageList::File& file : list.files) labels.push_back(file.label);
  list.files =
      gathered(std::move(list.files), select_stratified_split(labels, settings, split, list.directory.string()));
  return list;
}

}  // namespace ptrain
