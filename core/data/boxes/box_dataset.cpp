#include "core/data/boxes/box_dataset.h"

#include "core/base/counted.h"
#include "core/base/hash.h"
#include "core/data/class_names.h"
#include "core/data/image/framing.h"
#include "core/data/image/image_transform.h"
#include "core/data/image/random_erasing.h"
#include "core/data/sources.h"

#include <algorithm>
#include <ranges>

namespace ptrain {
namespace {

class BoxDataset final : public Dataset {
 public:
  BoxDataset(AnnotatedImages annotated, const DataSettings& settings, Split split, const std::string& place)
      : images_(std::move(annotated.images)),
        flips_(resolve_augment(settings, split, Augmentation::crop_flip) != Augmentation::none) {
    constexpr int usual_side = 512;
    info_ = photo_info(settings, annotated.class_names, place);
    info_.category_ids = std::move(annotated.category_ids);
    info_.targets = settings.targets;
    info_.framing = ImageFraming::pad;
    info_.image_size = settings.image_size.value_or(usual_side);
    info_.orientation = ImageOrientation::stored;  // boxes are in pixels as stored
    notes_ = std::move(annotated.notes);
    refuse_relative_boxes(place);
    if (split == Split::train) {
      if (std::string alike = describe_alike(info_.class_names, place); !alike.empty()) notes_.push_back(alike);
      leave_out_unlearnable(place);
      note_clipped(place);
    } else if (std::ranges::all_of(images_, has_nothing_to_find)) {
      notes_.push_back(fmt::format("{}: no image has a box to find, so mAP is undefined", place));
    }
    if (images_.empty()) fail("{}: has no image with a box that can be learnt", place);
    for (const AnnotatedImage& image : images_) {
      most_objects_ = std::max(most_objects_, image.objects.size());
      most_runs_ = std::max(most_runs_, count_runs(image.objects));
    }
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(images_.size()); }
  std::int32_t label(std::int64_t) const override { return 0; }
  ImageAspect aspect(std::int64_t index) const override {
    const AnnotatedImage& image = images_[static_cast<std::size_t>(index)];
    return get_aspect(image.height, image.width);
  }

  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    std::vector<TensorSpec> all = input_tensors(info_, form.size);
    all.push_back(placement_tensor());
    all.push_back(annotation_tensor(most_objects_));
    if (wants_masks(info_.targets)) all.push_back(mask_tensor(most_runs_));
    return all;
  }

  void load(std::int64_t index, SampleRandom random, Scratch& scratch, const SampleRow& out) const override {
    const AnnotatedImage& image = images_[static_cast<std::size_t>(index)];
    const DecodedImage decoded = read_image(image.file, scratch, info_.orientation);
    if (image.width > 0 && (decoded.width != image.width || decoded.height != image.height)) {
      throw BadSample(fmt::format("{}: has {}x{} px, its annotations are for {}x{}", image.file, decoded.width,
                                  decoded.height, image.width, image.height));
    }
    const ImageSize size = out.form().size.value_or(info_.image_size);
    FramePlacement place = fit_inside(decoded.size(), size);
    if (flips_ && random.below(2) == 1) place.mirror = Mirror::horizontal;
    place_image(decoded, place, size, mean_colour(info_), scratch, out.at<std::uint8_t>(tensor_names::images));
    write_placement(place, out.at<float>(tensor_names::placements));
    std::vector<AnnotatedObject> objects = image.objects;
    if (wants_masks(info_.targets)) write_masks(objects, out.at<std::int32_t>(tensor_names::object_masks));
    write_objects(objects, out.at<std::int64_t>(tensor_names::annotations));
  }

  SampleOrigin origin(std::int64_t index) const override {
    const AnnotatedImage& image = images_[static_cast<std::size_t>(index)];
    return {.file = image.file, .is_picture = true, .id = image.id};
  }

  std::uint64_t fingerprint() const override {
    std::uint64_t hash = Dataset::fingerprint();
    for (const AnnotatedImage& image : images_) {
      for (const AnnotatedObject& one : image.objects) {
        hash = fnv1a64(fmt::format("{} {} {} {} {} {} {}", one.label, one.box[0], one.box[1], one.box[2], one.box[3],
                                   one.area, one.crowd),
                       hash);
        if (!one.mask.empty()) hash = fnv1a64(one.mask, hash);
      }
    }
    return hash;
  }

 private:
  static bool has_nothing_to_find(const AnnotatedImage& image) {
    return std::ranges::all_of(image.objects, &AnnotatedObject::crowd);
  }

  /// Throws Error where every box lies in the first pixel: its numbers are fractions of the image.
  void refuse_relative_boxes(const std::string& place) const {
    bool any = false;
    for (const AnnotatedImage& image : images_) {
      for (const AnnotatedObject& object : image.objects) {
        const auto& [x, y, w, h] = object.box;
        if (w <= 0 || h <= 0) continue;
        if (x + w > 1 || y + h > 1) return;
        any = true;
      }
    }
    if (!any) return;
    fail(
        "{}: all boxes lie within 0 and 1, as fractions of the image do; expected px: multiply them by its width and "
        "height",
        place);
  }

  /// Boxes are clipped when they are learnt. By up to a pixel, rounding puts some of any data set outside.
  void note_clipped(const std::string& place) {
    constexpr double rounding = 1;
    std::int64_t clipped = 0;
    for (const AnnotatedImage& image : images_) {
      if (image.width == 0 || image.height == 0) continue;
      clipped += std::ranges::count_if(image.objects, [&](const AnnotatedObject& one) {
        const auto& [x, y, w, h] = one.box;
        return !one.crowd &&
               (x < -rounding || y < -rounding || x + w > image.width + rounding || y + h > image.height + rounding);
      });
    }
    if (clipped > 0) {
      notes_.push_back(fmt::format("{}: {} {} beyond the image and {} clipped to it", place, clipped,
                                   clipped == 1 ? "box reaches" : "boxes reach", clipped == 1 ? "is" : "are"));
    }
  }

  void leave_out_unlearnable(const std::string& place) {
    std::int64_t boxes = 0;
    for (AnnotatedImage& image : images_) {
      const int width = image.width > 0 ? image.width : 1 << 20, height = image.height > 0 ? image.height : 1 << 20;
      boxes += static_cast<std::int64_t>(std::erase_if(
          image.objects, [&](const AnnotatedObject& one) { return !one.crowd && !is_learnable(one, width, height); }));
    }
    const auto images = static_cast<std::int64_t>(std::erase_if(images_, has_nothing_to_find));
    if (boxes > 0) {
      notes_.push_back(fmt::format("{}: {} {} without area or outside the image left out", place, boxes,
                                   boxes == 1 ? "box" : "boxes"));
    }
    if (images > 0) notes_.push_back(fmt::format("{}: {} without boxes left out", place, counted(images, "image")));
  }

  std::vector<AnnotatedImage> images_;
  bool flips_;
  std::size_t most_objects_ = 0, most_runs_ = 0;  // of an image
};

}  // namespace

std::unique_ptr<Dataset> make_box_dataset(AnnotatedImages annotated, const DataSettings& settings, Split split,
                                          const std::string& place) {
  return std::make_unique<BoxDataset>(std::move(annotated), settings, split, place);
}

}  // namespace ptrain
