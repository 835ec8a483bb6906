// Images that `ptrain data pack` has decoded: path/train.pack and path/val.pack, mapped into memory.
#include "core/data/image/image_pack.h"
#include "core/data/image/image_transform.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"
#include "core/io/mapped_file.h"

#include <algorithm>

namespace ptrain {
namespace {

class PackedDataset : public Dataset {
 public:
  PackedDataset(const DataSettings& settings, Split split, const std::filesystem::path& path)
      : path_(path.string()),
        file_(path),
        pack_(parse_image_pack(file_.bytes(), path.string())),
        transform_(photo_transform(settings, split)) {
    if (split == Split::eval) join_training(std::filesystem::path(settings.path) / pack_name(Split::train));
    info_ = photo_info(settings, pack_.class_names, path.string());
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(pack_.index.size()); }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const auto i = static_cast<std::size_t>(index);
    const PackedImage& image = pack_.index[i];
    const ImageView view{pack_.pixels[i], std::size_t{3} * image.width, 0, 0};
    transform_.in_form(out.form())
        .apply(view, static_cast<int>(image.width), static_cast<int>(image.height), random, scratch,
               out.at<std::uint8_t>(tensor_names::images));
    file_.check();
    out.set<std::int32_t>(tensor_names::labels, image.label);
  }

  std::int32_t label(std::int64_t index) const override { return pack_.index[static_cast<std::size_t>(index)].label; }

  SampleOrigin origin(std::int64_t index) const override { return {.file = path_, .record = index}; }

 private:
  /// Numbers the classes as the training pack does, if it is there. Throws Error if the two were not written together.
  void join_training(const std::filesystem::path& training) {
    if (!std::filesystem::exists(training)) return;
    const MappedFile file(training);
    const ImagePack other = parse_image_pack(file.bytes(), training.string());
    file.check();
    const std::vector<std::string>& names = other.class_names;
    std::vector<std::int32_t> labels;
    for (const std::string& name : pack_.class_names) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) {
        fail("{}: class {} does not occur in {}, whose classes are {}", path_, quoted_name(name), training.string(),
             listed(names));
      }
      labels.push_back(static_cast<std::int32_t>(found - names.begin()));
    }
    if (pack_.pair != other.pair) {
      fail(
          "{}: was not written together with {}: ptrain data pack was ended between them, or one is a copy; pack again",
          path_, training.string());
    }
    for (PackedImage& image : pack_.index) image.label = labels[static_cast<std::size_t>(image.label)];
    pack_.class_names = names;
  }

  std::string path_;
  MappedFile file_;
  ImagePack pack_;
  ImageTransform transform_;
};

}  // namespace

std::unique_ptr<Dataset> open_packed(const DataSettings& settings, Split split) {
  require_path(settings, "packed");
  return std::make_unique<PackedDataset>(settings, split, std::filesystem::path(settings.path) / pack_name(split));
}

}  // namespace ptrain
