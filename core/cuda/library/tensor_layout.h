// Memory layouts of tensors in cuDNN's terms.
#pragma once

#include "core/graph/tensor_desc.h"

#include <vector>

namespace ptrain::cuda {

/// cuDNN's view of a tensor: extents and strides (in elements) in its own order, N C H W for images.
struct TensorLayout {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
  bool is_mask = false;  // one bit per element, in u8

  /// Bytes from the first to the last element.
  std::size_t span_bytes() const;
};

/// Images [N,H,W,C], or weights [K,R,S,C/groups], with contiguous channels.
TensorLayout channels_last(const TensorDesc& desc);
/// Data [...,C] as rows of channels.
TensorLayout rows_of_channels(const TensorDesc& desc);
/// The mask of data (mask_desc), with the data's elements.
TensorLayout mask_layout(const TensorDesc& data);
/// One f32 value for each of C channels.
TensorLayout per_channel(std::int64_t channels);

}  // namespace ptrain::cuda
