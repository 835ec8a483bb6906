#include "core/infer/image_reader.h"

#include "core/data/image/framing.h"
#include "core/data/image/random_erasing.h"
#include "core/data/tensor_names.h"

namespace ptrain {

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
  const FramePlacement place = fit_inside(decoded.size(), data_.image_size);
  place_image(decoded, place, data_.image_size, mean_colour(data_), scratch, pixels);
  write_placement(place, out.at<float>(tensor_names::placements));
}

}  // namespace ptrain
