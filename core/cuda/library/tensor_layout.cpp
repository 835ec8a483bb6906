#include "core/cuda/library/tensor_layout.h"

namespace ptrain::cuda {
namespace {

TensorLayout channels_last(DType dtype, std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) {
  return {dtype, {n, c, h, w}, {h * w * c, 1, w * c, c}, false};
}

}  // namespace

std::size_t TensorLayout::span_bytes() const {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
  const auto elements = static_cast<std::size_t>(last + 1);
  return is_mask ? (elements + 7) / 8 : elements * element_size(dtype);
}

TensorLayout channels_last(const TensorDesc& desc) {
  const Shape& s = desc.shape;
  return channels_last(desc.dtype, s[0], s[1], s[2], s[3]);
}

TensorLayout rows_of_channels(const TensorDesc& desc) {
  if (desc.shape.rank() == 4) return channels_last(desc);
  const std::int64_t channels = desc.shape[-1];
  return channels_last(desc.dtype, desc.count() / channels, 1, 1, channels);
}

TensorLayout mask_layout(const TensorDesc& data) {
  TensorLayout layout = rows_of_channels({DType::u8, data.shape});
  layout.is_mask = true;
  return layout;
}

TensorLayout per_channel(std::int64_t channels) { return channels_last(DType::f32, 1, 1, 1, channels); }

}  // namespace ptrain::cuda
