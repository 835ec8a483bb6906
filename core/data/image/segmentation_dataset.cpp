// Images with a class for each pixel, in label maps: PNGs whose values are class numbers.
#include "core/base/counted.h"
#include "core/data/image/image_transform.h"
#include "core/data/image/random_erasing.h"
#include "core/data/image/segmentation_files.h"
#include "core/data/image/segmentation_transform.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"

#include <fmt/ranges.h>

namespace ptrain {
namespace {

constexpr std::int32_t unknown_class = -2;

class SegmentationDataset final : public Dataset {
 public:
  SegmentationDataset(const DataSettings& settings, Split split, SegmentationFiles files, const DatasetInfo& info)
      : files_(std::move(files)),
        transform_(info.image_size, resolve_augment(settings, split, Augmentation::random_resized_crop),
                   mean_colour(info)),
        split_(split) {
    info_ = info;
    info_.targets = {tensor_names::masks};
    info_.framing = ImageFraming::pad;
    classes_.fill(unknown_class);
    for (std::int32_t i = 0; i < std::min(info_.classes, 256); ++i) classes_[static_cast<std::size_t>(i)] = i;
    classes_[static_cast<std::size_t>(settings.ignore_index)] = no_class;
    check_pixels(settings.path);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.samples.size()); }
  std::int32_t label(std::int64_t) const override { return 0; }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    std::vector<TensorSpec> all = with_masks(input_tensors(info_, form.size), info_);
    all.push_back(placement_tensor());
    return all;
  }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const LabelledImage& sample = files_.samples[static_cast<std::size_t>(index)];
    read_sample(sample.labels, scratch.file);
    const IndexImage labels = decode_png_indices(scratch.file, sample.labels.string());
    const DecodedImage image = read_image(sample.image, scratch, info_.orientation);
    if (labels.width != image.width || labels.height != image.height) {
      throw BadSample(fmt::format("{}: has {} x {} px, but its image {} has {} x {}", sample.labels.string(),
                                  labels.width, labels.height, sample.image.string(), image.width, image.height));
    }
    require_classes(labels, sample.labels.string());
    const SegmentationTransform transform = transform_.in_form(out.form());
    const FramePlacement place = transform.plan(image.size(), random);
    transform.apply(image, place, scratch, out.at<std::uint8_t>(tensor_names::images));
    transform.apply(labels, place, classes_, out.at<std::int32_t>(tensor_names::masks));
    write_placement(place, out.at<float>(tensor_names::placements));
    if (split_ == Split::eval) out.set_label_map(place.resized == place.original ? PixelClasses{} : to_classes(labels));
  }

  SampleOrigin origin(std::int64_t index) const override {
    return {.file = files_.samples[static_cast<std::size_t>(index)].image.string(), .is_picture = true};
  }

 private:
  /// Fails where no pixel of any label map has a class, and notes the classes that training would not see. Counts in a
  /// few label maps, evenly spaced, and reads more until one has a class.
  void check_pixels(const std::string& place) {
    constexpr std::int64_t most_counted = 64;
    const std::int64_t count = std::min(size(), most_counted);
    std::vector<bool> seen(static_cast<std::size_t>(info_.classes));
    bool are_sound = true;
    for (std::int64_t i = 0; i < count; ++i) are_sound = mark_classes(i * size() / count, seen) && are_sound;
    const auto none_seen = [&] { return std::ranges::find(seen, true) == seen.end(); };
    for (std::int64_t i = 0; i < size() && are_sound && none_seen(); ++i) are_sound = mark_classes(i, seen);
    if (!are_sound) return;
    if (none_seen()) {
      fail("{}: no pixel of {} has a class: all are data.ignore_index ({})", place,
           counted(size(), split_ == Split::train ? "training label map" : "evaluation label map"),
           std::ranges::find(classes_, no_class) - classes_.begin());
    }
    if (split_ != Split::train || std::ranges::find(seen, false) == seen.end()) return;
    std::vector<std::string> absent;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (!seen[i]) absent.push_back(i < info_.class_names.size() ? info_.class_names[i] : std::to_string(i));
    }
    notes_.push_back(fmt::format("{}: no pixel of class {} in {} of {}", place, fmt::join(absent, ", "), count,
                                 counted(size(), "training label map")));
  }

  /// Marks the classes of a label map. False for one that loading will refuse.
  bool mark_classes(std::int64_t index, std::vector<bool>& seen) const {
    try {
      std::vector<std::uint8_t> bytes;
      const std::filesystem::path& file = files_.samples[static_cast<std::size_t>(index)].labels;
      read_sample(file, bytes);
      for (const std::uint8_t value : decode_png_indices(bytes, file.string()).values) {
        if (classes_[value] == unknown_class) return false;
        if (classes_[value] != no_class) seen[static_cast<std::size_t>(classes_[value])] = true;
      }
      return true;
    } catch (const BadSample&) {
      return false;
    }
  }

  /// An error of the configuration or of all data, not of one sample: training ends.
  void require_classes(const IndexImage& labels, const std::string& name) const {
    const auto bad =
        std::ranges::find_if(labels.values, [this](std::uint8_t value) { return classes_[value] == unknown_class; });
    if (bad == labels.values.end()) return;
    const auto at = bad - labels.values.begin();
    fail("{}: label {} at column {}, row {}: expected below {}, the number of classes, or data.ignore_index", name,
         *bad, at % labels.width, at / labels.width, info_.classes);
  }

  PixelClasses to_classes(const IndexImage& labels) const {
    PixelClasses map{{labels.height, labels.width}, std::vector<std::int32_t>(labels.values.size())};
    std::ranges::transform(labels.values, map.classes.begin(), [this](std::uint8_t value) { return classes_[value]; });
    return map;
  }

  SegmentationFiles files_;
  SegmentationTransform transform_;
  Split split_;
  std::array<std::int32_t, 256> classes_{};  // of the values in label maps
};

template <SegmentationFiles (*list)(const DataSettings& settings, Split split)>
std::unique_ptr<Dataset> open_listed(const DataSettings& settings, Split split) {
  require_path(settings, settings.source);
  SegmentationFiles files = list(settings, split);
  const DatasetInfo info = photo_info(settings, files.class_names, files.place.string());
  return std::make_unique<SegmentationDataset>(settings, split, std::move(files), info);
}

}  // namespace

std::vector<TensorSpec> with_masks(std::vector<TensorSpec> inputs, const DatasetInfo& data) {
  const Shape& image = inputs.front().shape;
  inputs.push_back({tensor_names::masks, DType::i32, {image[0], image[1]}, no_class, data.classes});
  return inputs;
}

std::unique_ptr<Dataset> open_mask_folder(const DataSettings& settings, Split split) {
  return open_listed<list_mask_folder>(settings, split);
}
std::unique_ptr<Dataset> open_voc_segmentation(const DataSettings& settings, Split split) {
  return open_listed<list_voc>(settings, split);
}
std::unique_ptr<Dataset> open_cityscapes(const DataSettings& settings, Split split) {
  return open_listed<list_cityscapes>(settings, split);
}

}  // namespace ptrain
