#include "core/data/image/segmentation_transform.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

/// The nearest of `in` pixels to pixel `at` of `out`.
int nearest(int at, int in, int out) {
  return static_cast<int>((2 * std::int64_t{at} + 1) * in / (2 * std::int64_t{out}));
}

}  // namespace

SegmentationTransform SegmentationTransform::in_form(const ImageForm& form) const {
  SegmentationTransform other = *this;
  other.frame_ = form.size.value_or(frame_);
  return other;
}

FramePlacement SegmentationTransform::plan(ImageSize original, SampleRandom& random) const {
  if (augment_ == Augmentation::none) return fit_inside(original, frame_);
  constexpr float smallest_factor = 0.5f;
  const bool scales = augment_ == Augmentation::random_resized_crop;
  const double factor = scales ? static_cast<double>(random.uniform(smallest_factor, largest_factor_)) : 1.0;
  FramePlacement place = fit_inside(original, size_);
  const auto scaled = [factor](int side) { return std::max(1LL, std::llround(side * factor)); };
  place.resized = {scaled(place.resized.height), scaled(place.resized.width)};
  place.left = random.below(std::max(0, place.resized.width - frame_.width) + 1);
  place.top = random.below(std::max(0, place.resized.height - frame_.height) + 1);
  place.mirror = random.below(2) == 0 ? Mirror::no : Mirror::horizontal;
  return place;
}

void SegmentationTransform::apply(const DecodedImage& image, const FramePlacement& place, Scratch& scratch,
                                  std::span<std::uint8_t> out) const {
  place_image(image, place, frame_, padding_, scratch, out);
}

void SegmentationTransform::apply(const IndexImage& labels, const FramePlacement& place,
                                  std::span<const std::int32_t, 256> classes, std::span<std::int32_t> out) const {
  const ImageSize filled = place.filled_size(frame_);
  std::ranges::fill(out, no_class);
  for (int y = 0; y < filled.height; ++y) {
    const int row = nearest(place.top + y, labels.height, place.resized.height);
    const std::uint8_t* const from = labels.values.data() + std::ptrdiff_t{row} * labels.width;
    std::int32_t* const to = out.data() + std::ptrdiff_t{y} * frame_.width;
    for (int x = 0; x < filled.width; ++x) {
      const int at = place.mirror == Mirror::no ? x : filled.width - 1 - x;
      to[x] = classes[from[nearest(place.left + at, labels.width, place.resized.width)]];
    }
  }
}

}  // namespace ptrain
