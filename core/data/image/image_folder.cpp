// A folder of images, one directory per class; images are decoded when loaded.
#include "core/data/image/image_list.h"
#include "core/data/image/image_transform.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"

namespace ptrain {
namespace {

class ImageFolderDataset : public Dataset {
 public:
  ImageFolderDataset(const DataSettings& settings, Split split)
      : list_(list_part(settings, split, SampleFile::image)), transform_(photo_transform(settings, split)) {
    notes_ = list_.notes;
    info_ = photo_info(settings, list_.class_names, list_.directory.string());
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(list_.files.size()); }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const ImageList::File& file = list_.files[static_cast<std::size_t>(index)];
    const std::filesystem::path path = list_.full_path(file);
    read_sample(path, scratch.file);
    transform_.in_form(out.form())
        .apply_encoded(scratch.file, path.string(), random, scratch, out.at<std::uint8_t>(tensor_names::images));
    out.set<std::int32_t>(tensor_names::labels, file.label);
  }

  std::int32_t label(std::int64_t index) const override { return list_.files[static_cast<std::size_t>(index)].label; }

  SampleOrigin origin(std::int64_t index) const override {
    return {.file = list_.full_path(list_.files[static_cast<std::size_t>(index)]).string(), .is_picture = true};
  }

 private:
  ImageList list_;
  ImageTransform transform_;
};

}  // namespace

std::unique_ptr<Dataset> open_image_folder(const DataSettings& settings, Split split) {
  require_path(settings, "image_folder");
  return std::make_unique<ImageFolderDataset>(settings, split);
}

}  // namespace ptrain
