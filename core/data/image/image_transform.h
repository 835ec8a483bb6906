// The transform from an image file to the model's input: crop, resize, flip, shift.
#pragma once

#include "core/data/factory.h"
#include "core/data/image/jpeg.h"
#include "core/data/image/resize.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace ptrain {

/// The drawn random parameters of one sample: `crop` of the source is resized to resized_width x resized_height; the
/// target's pixels at (left, top) are taken, flipped, then shifted (zeros come in).
struct CropDraw {
  Box crop;
  int resized_width = 0;
  int resized_height = 0;
  int left = 0;
  int top = 0;
  Mirror mirror = Mirror::no;
  int shift_x = 0;
  int shift_y = 0;
};

/// Turns any image into the model's [height, width, 3] input.
/// Training, random_resized_crop: an area of ImageForm::smallest_crop (8 %) to 100 %, ratio 3/4 to 4/3 of the input's
/// own, then a flip (Inception's augmentation, with torchvision's draws). Training, crop_flip: resized until it covers
/// the input, centre crop, shift by up to 4 px (1/8 of a side above 32 px) with zero padding, flip. Otherwise: resized
/// until it covers the input's sides * 256 / 224 (small images: the sides themselves), centre crop. To cover a square,
/// the shorter side is resized to its side.
class ImageTransform {
 public:
  /// `augment` must not be `automatic`.
  ImageTransform(ImageSize size, Augmentation augment, ImageOrientation orientation = ImageOrientation::exif)
      : size_(size),
        augment_(augment),
        orientation_(orientation),
        reach_(std::max(4, size.height / 8), std::max(4, size.width / 8)) {}

  /// The same for images of another form; shifts are scaled in proportion.
  ImageTransform in_form(const ImageForm& form) const;
  CropDraw plan(int width, int height, SampleRandom& random) const;
  /// The size that an image covers after an evaluation's resize.
  ImageSize resized_to() const;
  /// Transforms RGB8 pixels; `source` holds the whole image.
  void apply(const ImageView& source, int width, int height, SampleRandom& random, Scratch& scratch,
             std::span<std::uint8_t> out) const;
  /// Transforms the bytes of a JPEG, PNG, WebP or BMP file; throws BadSample naming it. `scratch.decoder` decodes whole
  /// JPEGs; libjpeg decodes only what the plan uses, reduced by 2, 4 or 8 where the plan reduces it by more. Without
  /// such a reduction both give the same result up to rounding.
  void apply_encoded(std::span<const std::uint8_t> bytes, const std::string& name, SampleRandom& random,
                     Scratch& scratch, std::span<std::uint8_t> out) const;

 private:
  void apply_jpeg(std::span<const std::uint8_t> bytes, const std::string& name, SampleRandom& random, Scratch& scratch,
                  std::span<std::uint8_t> out) const;
  void finish(const ImageView& source, const CropDraw& plan, const ResizeAxis& horizontal, const ResizeAxis& vertical,
              Scratch& scratch, std::span<std::uint8_t> out) const;

  ImageSize size_;
  Augmentation augment_;
  ImageOrientation orientation_;  // of encoded images
  ImageSize reach_;               // maximum shift of crop_flip, down and to the right
  float smallest_crop_ = ImageForm{}.smallest_crop;
};

/// As read_file; throws BadSample.
void read_sample(const std::filesystem::path& file, std::vector<std::uint8_t>& bytes);

/// Decodes the bytes of a JPEG, PNG, WebP or BMP file into `pixels`; throws BadSample naming it.
DecodedImage decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                          std::vector<std::uint8_t>& pixels, ImageOrientation orientation = ImageOrientation::exif);
/// Reads and decodes such a file; throws BadSample. The image is valid until `scratch` is used again.
DecodedImage read_image(const std::filesystem::path& file, Scratch& scratch, ImageOrientation orientation);

/// The transform shared by sources of photographs of any size. Images are settings.image_size, 224 when that is 0.
ImageTransform photo_transform(const DataSettings& settings, Split split);
/// `place` begins the message when the number of classes differs from the requested one.
DatasetInfo photo_info(const DataSettings& settings, const std::vector<std::string>& class_names,
                       const std::string& place);

}  // namespace ptrain
