// What happens to an image between its file and the model's square input: crop, resize, flip, shift.
#pragma once

#include "core/data/factory.h"
#include "core/data/image/jpeg.h"
#include "core/data/image/resize.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace ptrain {

/// The randomness of one sample, already drawn: `crop` of the source is resized to resized_width x resized_height, of
/// which the size x size pixels at (left, top) are the result, mirrored, then moved by shift (zeros come in).
struct ImagePlan {
  Box crop;
  int resized_width = 0;
  int resized_height = 0;
  int left = 0;
  int top = 0;
  Mirror mirror = Mirror::no;
  int shift_x = 0;
  int shift_y = 0;
};

/// Turns any image into the model's [size, size, 3] input.
/// Training, random_resized_crop: an area of ImageForm::smallest_crop (8 %) to 100 %, ratio 3/4 to 4/3, then a flip
/// (Inception's augmentation, with torchvision's draws). Training, crop_flip: shorter side to `size`, centre crop,
/// shift by up to 4 px (1/8 of the size above 32 px) with zero padding, flip. Otherwise: shorter side to size * 256 /
/// 224 (to `size` up to 64 px), centre crop.
class ImageTransform {
 public:
  /// `augment` is not `automatic` here.
  ImageTransform(int size, Augmentation augment) : size_(size), augment_(augment), reach_(std::max(4, size / 8)) {}

  /// The same for images of another form; shifts reach as far in proportion.
  ImageTransform in_form(const ImageForm& form) const;
  ImagePlan plan(int width, int height, SampleRandom& random) const;
  /// What an evaluation's plan resizes the shorter side to.
  int resized_to() const;
  /// From RGB8 pixels; `source` holds the whole image.
  void apply(const ImageView& source, int width, int height, SampleRandom& random, Scratch& scratch,
             std::span<std::uint8_t> out) const;
  /// From the bytes of a JPEG or PNG file; throws BadSample naming it. `scratch.decoder` decodes JPEGs whole, libjpeg
  /// what the plan uses, reduced by 2, 4 or 8 where the plan reduces it by more: otherwise both give the same, but for
  /// rounding.
  void apply_encoded(std::span<const std::uint8_t> bytes, const std::string& name, SampleRandom& random,
                     Scratch& scratch, std::span<std::uint8_t> out) const;

 private:
  void apply_jpeg(std::span<const std::uint8_t> bytes, const std::string& name, SampleRandom& random, Scratch& scratch,
                  std::span<std::uint8_t> out) const;
  void finish(const ImageView& source, const ImagePlan& plan, const ResizeAxis& horizontal, const ResizeAxis& vertical,
              Scratch& scratch, std::span<std::uint8_t> out) const;

  int size_;
  Augmentation augment_;
  int reach_;  // px that crop_flip shifts by at most
  float smallest_crop_ = ImageForm{}.smallest_crop;
};

/// The whole of an image as RGB8.
struct DecodedImage {
  int width = 0;
  int height = 0;
  ImageView view;  // of the pixels it was decoded into
};

/// From the bytes of a JPEG or PNG file into `pixels`; throws BadSample naming it.
DecodedImage decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                          std::vector<std::uint8_t>& pixels);

/// What sources of photographs of any size share. Images are settings.image_size, 224 when that is 0.
ImageTransform photo_transform(const DataSettings& settings, Split split);
/// `place` opens the message when the number of classes is not the one asked for.
DatasetInfo photo_info(const DataSettings& settings, const std::vector<std::string>& class_names,
                       const std::string& place);

}  // namespace ptrain
