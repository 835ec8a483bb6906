// Lists a folder of images or clips: path/train/<class>/*.jpg and path/val/<class>/*.jpg, or for clips folders in place
// of the images.
#pragma once

#include "core/data/factory.h"

#include <filesystem>

namespace ptrain {

/// Whether a file's name has an extension of JPEG or PNG images.
bool has_image_suffix(const std::filesystem::path& path);

/// The form of a sample on disk: a JPEG or PNG file, or a folder of frames.
enum class SampleFile { image, clip };

/// The samples of one split, ordered by class and name. Classes are the training split's, so that both splits number
/// them alike.
struct ImageList {
  struct File {
    std::string name;
    std::int32_t label;
  };

  std::filesystem::path directory;  // of the split
  std::vector<std::string> class_names;
  std::vector<File> files;

  /// The path of `file`: directory/class/name.
  std::filesystem::path full_path(const File& file) const;
};

/// The directory of a split below `root`; empty where there is none.
std::filesystem::path find_split(const std::filesystem::path& root, Split split);

/// Throws Error when a directory is missing or empty, or when a class is not in the training split; the message says
/// what was expected.
ImageList list_images(const std::filesystem::path& root, Split split, SampleFile form = SampleFile::image);

/// The same for settings.path, with the split by settings.dev_fraction if that is set.
ImageList list_part(const DataSettings& settings, Split split, SampleFile form);

}  // namespace ptrain
