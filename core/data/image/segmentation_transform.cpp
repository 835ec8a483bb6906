#include "core/data/image/segmentation_transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptrain {
namespace {

ImageSize scaled(int width, int height, double factor) {
  const auto side = [factor](int length) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(length) * factor));
  };
  return {side(height), side(width)};
}

double fitting_factor(int width, int height, ImageSize frame) {
  return std::min(static_cast<double>(frame.width) / width, static_cast<double>(frame.height) / height);
}

/// The part of the frame that an image fills: columns [left, left + width) of the first `height` rows.
struct FilledPart {
  int left, width, height;

  FilledPart(const FramePlacement& place, ImageSize frame)
      : left(0),
        width(std::min(frame.width, place.resized.width - place.left)),
        height(std::min(frame.height, place.resized.height - place.top)) {
    if (place.mirror == Mirror::horizontal) left = frame.width - width;
  }
};

/// The nearest of `in` pixels to pixel `at` of `out`.
int nearest(int at, int in, int out) {
  return static_cast<int>((2 * std::int64_t{at} + 1) * in / (2 * std::int64_t{out}));
}

}  // namespace

ImageSize fit_inside(int width, int height, ImageSize frame) {
  const ImageSize fitted = scaled(width, height, fitting_factor(width, height, frame));
  return {std::min(fitted.height, frame.height), std::min(fitted.width, frame.width)};
}

IndexImage restore_size(const IndexImage& frame, int width, int height) {
  const ImageSize fitted = fit_inside(width, height, {frame.height, frame.width});
  IndexImage labels{width, height, {}};
  labels.values.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* const row =
        frame.values.data() + std::ptrdiff_t{nearest(y, fitted.height, height)} * frame.width;
    for (int x = 0; x < width; ++x) labels.values.push_back(row[nearest(x, fitted.width, width)]);
  }
  return labels;
}

SegmentationTransform SegmentationTransform::in_form(const ImageForm& form) const {
  SegmentationTransform other = *this;
  other.frame_ = form.size.value_or(frame_);
  return other;
}

FramePlacement SegmentationTransform::plan(int width, int height, SampleRandom& random) const {
  if (augment_ == Augmentation::none) return {fit_inside(width, height, frame_)};
  constexpr float smallest = 0.5f, largest = 2.0f;
  const bool scales = augment_ == Augmentation::random_resized_crop;
  const double factor = scales ? static_cast<double>(random.uniform(smallest, largest)) : 1.0;
  FramePlacement place{scaled(width, height, fitting_factor(width, height, size_) * factor)};
  place.left = random.below(std::max(0, place.resized.width - frame_.width) + 1);
  place.top = random.below(std::max(0, place.resized.height - frame_.height) + 1);
  place.mirror = random.below(2) == 0 ? Mirror::no : Mirror::horizontal;
  return place;
}

void SegmentationTransform::apply(const DecodedImage& image, const FramePlacement& place, Scratch& scratch,
                                  std::span<std::uint8_t> out) const {
  const FilledPart filled(place, frame_);
  const auto row_bytes = static_cast<std::size_t>(frame_.width) * 3;
  if (filled.width < frame_.width || filled.height < frame_.height) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = padding_[i % 3];
  }
  const auto filled_bytes = static_cast<std::size_t>(filled.width) * 3;
  scratch.resized.resize(filled_bytes * static_cast<std::size_t>(filled.height));
  resize_bilinear(image.view, {image.width, place.resized.width, place.left, filled.width},
                  {image.height, place.resized.height, place.top, filled.height}, place.mirror, scratch,
                  scratch.resized.data());
  for (std::size_t y = 0; y < static_cast<std::size_t>(filled.height); ++y) {
    std::memcpy(out.data() + y * row_bytes + 3 * static_cast<std::size_t>(filled.left),
                scratch.resized.data() + y * filled_bytes, filled_bytes);
  }
}

void SegmentationTransform::apply(const IndexImage& labels, const FramePlacement& place,
                                  std::span<const std::int32_t, 256> classes, std::span<std::int32_t> out) const {
  const FilledPart filled(place, frame_);
  std::ranges::fill(out, no_class);
  for (int y = 0; y < filled.height; ++y) {
    const int row = nearest(place.top + y, labels.height, place.resized.height);
    const std::uint8_t* const from = labels.values.data() + std::ptrdiff_t{row} * labels.width;
    std::int32_t* const to = out.data() + std::ptrdiff_t{y} * frame_.width + filled.left;
    for (int x = 0; x < filled.width; ++x) {
      const int at = place.mirror == Mirror::no ? x : filled.width - 1 - x;
      to[x] = classes[from[nearest(place.left + at, labels.width, place.resized.width)]];
    }
  }
}

}  // namespace ptrain
