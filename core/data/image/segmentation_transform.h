// The transform from an image and its label map to a sample of segmentation: both are scaled, cropped or padded, and
// flipped alike. Boxes around text move with their image likewise.
#pragma once

#include "core/data/image/framing.h"
#include "core/data/image/png_image.h"

#include <array>
#include <cstdint>
#include <span>

namespace ptrain {

/// The label of pixels without a class, in tensors.
inline constexpr std::int32_t no_class = -1;

class SegmentationTransform {
 public:
  /// Training, random_resized_crop: the image is resized to fit into the frame, times a factor from 0.5 to
  /// `largest_factor`, and a random crop is flipped at random (Chen et al. 2017, "Rethinking Atrous Convolution").
  /// crop_flip: without the factor. none: it is resized to fit into the frame. `padding` is the colour of the rest.
  /// `augment` must not be `automatic`.
  SegmentationTransform(ImageSize frame, Augmentation augment, const std::array<std::uint8_t, 3>& padding,
                        float largest_factor = 2)
      : size_(frame), frame_(frame), augment_(augment), padding_(padding), largest_factor_(largest_factor) {}

  /// The same for images of another form. Factors of the size still refer to the first frame's.
  SegmentationTransform in_form(const ImageForm& form) const;
  FramePlacement plan(ImageSize original, SampleRandom& random) const;
  /// Writes the frame's pixels as place_image() does.
  void apply(const DecodedImage& image, const FramePlacement& place, Scratch& scratch,
             std::span<std::uint8_t> out) const;
  /// Writes the frame's labels [height, width], those of the nearest pixels: `classes`[value] of each, or no_class.
  void apply(const IndexImage& labels, const FramePlacement& place, std::span<const std::int32_t, 256> classes,
             std::span<std::int32_t> out) const;

 private:
  ImageSize size_, frame_;
  Augmentation augment_;
  std::array<std::uint8_t, 3> padding_;
  float largest_factor_;
};

}  // namespace ptrain
