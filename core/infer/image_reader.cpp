#include "core/infer/image_reader.h"

#include "core/data/image/framing.h"
#include "core/data/image/random_erasing.h"
#include "core/data/tensor_names.h"

#include <algorithm>

namespace ptrain {

ImageSize choose_own_size(ImageSize original, ImageSize usual, int longest) {
  if (original.height <= usual.height && original.width <= usual.width) return usual;
  constexpr int step = 128;  // px, so that images of many sizes need few plans
  const int longer = std::max(original.height, original.width);
  const auto choose = [&](int side) {
    const int resized = longer <= longest ? side : static_cast<int>(std::int64_t{side} * longest / longer);
    return std::max(1, (resized + step - 1) / step) * step;
  };
  return {choose(original.height), choose(original.width)};
}

ImageReader::ImageReader(const DatasetInfo& data)
    : data_(data), crop_(data.image_size, Augmentation::none, data.orientation) {}

std::vector<TensorSpec> ImageReader::tensors() const {
  std::vector<TensorSpec> all = input_tensors(data_);
  if (pads()) all.push_back(placement_tensor());
  return all;
}

void ImageReader::read(std::span<const std::uint8_t> bytes, const std::string& name, SampleRandom random,
                       Scratch& scratch, const SampleRow& out) const {
  const auto pixels = out.at<std::uint8_t>(tensor_names::images);
  if (!pads()) return crop_.apply_encoded(bytes, name, random, scratch, pixels);
  const DecodedImage decoded = decode_image(bytes, name, scratch.pixels, data_.orientation);
  const ImageSize frame = out.form().size.value_or(data_.image_size);
  const FramePlacement place = fit_inside(decoded.size(), frame);
  place_image(decoded, place, frame, mean_colour(data_), scratch, pixels);
  write_placement(place, out.at<float>(tensor_names::placements));
}

}  // namespace ptrain
