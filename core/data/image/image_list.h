// Lists a folder of images or clips: path/train/<class>/*.jpg and path/val/<class>/*.jpg, at any depth below the class,
// or for clips folders in place of the images. Without val, the classes of images may lie directly in path.
#pragma once

#include "core/data/factory.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ptrain {

/// The names of image files that are read, for messages.
inline constexpr const char* image_files = "*.jpg, .jpeg, .jfif, .png, .webp or .bmp";

/// Whether a file's name has one of these suffixes, in any case.
bool has_image_suffix(const std::filesystem::path& path);

/// Whether files and folders of this name are no data: hidden ones, and what archives and picture stores leave.
bool is_left_out(const std::string& name);

/// Calls `visit` for all files and folders below `folder`, but for those left out. Links are followed.
/// Throws Error naming a folder that cannot be read, and a link to a folder that contains it.
void walk_folder(const std::filesystem::path& folder,
                 const std::function<void(const std::filesystem::directory_entry&)>& visit);

/// The form of a sample on disk: an image file, or a folder of frames.
enum class SampleFile { image, clip };

/// The samples of one split, ordered by class and name. Classes are the training split's, so that both splits number
/// them alike.
struct ImageList {
  struct File {
    std::string name;  // below `directory`
    std::int32_t label;
  };

  std::filesystem::path directory;  // of the split
  std::vector<std::string> class_names;
  std::vector<File> files;
  std::vector<std::string> notes;  // of what was left out, and of the classes' order

  /// The path of `file`.
  std::filesystem::path full_path(const File& file) const;
};

/// The directory of a split below `root`; empty where there is none.
std::filesystem::path find_split(const std::filesystem::path& root, Split split);

/// The directory whose folders are the classes to train on: root/train, or `root` itself where it has no splits and at
/// least two folders with images. Empty where there is none.
std::filesystem::path find_training_folder(const std::filesystem::path& root);

/// Throws Error when a directory is missing, when a class is empty or not in the training split; the message says what
/// was expected.
ImageList list_images(const std::filesystem::path& root, Split split, SampleFile form = SampleFile::image);

/// The same for settings.path, with the split by settings.dev_fraction if that is set.
ImageList list_part(const DataSettings& settings, Split split, SampleFile form);

}  // namespace ptrain
