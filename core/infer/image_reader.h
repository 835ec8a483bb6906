// Turns encoded images into a model's input, as in evaluations.
#pragma once

#include "core/data/dataset.h"
#include "core/data/image/image_transform.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// The size in which an image larger than a model's images, `usual`, is read so that what it shows stays as large: its
/// own, less where its longest side is above `longest` px, up to multiples of 128 px. Others are read as `usual`.
ImageSize choose_own_size(ImageSize original, ImageSize usual, int longest);

class ImageReader {
 public:
  /// `data` is a model's, whose samples are images.
  explicit ImageReader(const DatasetInfo& data);

  /// The tensors that read() writes: the input, and where images are padded their placement.
  std::vector<TensorSpec> tensors() const;
  bool pads() const { return data_.framing == ImageFraming::pad; }
  /// Writes the image, padded in the row's size if that is given, of a JPEG, PNG, WebP or BMP file of these bytes;
  /// `name` is for messages. Throws BadSample.
  void read(std::span<const std::uint8_t> bytes, const std::string& name, SampleRandom random, Scratch& scratch,
            const SampleRow& out) const;

 private:
  const DatasetInfo data_;
  ImageTransform crop_;
};

}  // namespace ptrain
