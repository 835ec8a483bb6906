// Checks that shape inference makes; the graph adds the node's name to the message.
#pragma once

#include "core/graph/tensor_desc.h"
#include "core/ops/activation.h"

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <utility>

namespace ptrain {

/// Throws std::invalid_argument with the formatted message when `condition` is false.
template <typename... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw std::invalid_argument(fmt::format(format, std::forward<Args>(args)...));
}

/// Checks that an op has from `least` to `most` inputs.
inline void require_count(std::span<const TensorDesc> inputs, std::size_t least, std::size_t most) {
  require(inputs.size() >= least && inputs.size() <= most, "expected {} to {} inputs, got {}", least, most,
          inputs.size());
}

/// `what` names the input in the message.
inline void require_floating(const TensorDesc& desc, const char* what) {
  require(is_floating(desc.dtype), "{}: expected a floating dtype, got {}", what, desc.to_string());
}

/// Checks for the same shape and dtype.
inline void require_desc(const TensorDesc& desc, const TensorDesc& expected, const char* what) {
  require(desc == expected, "{}: expected {}, got {}", what, expected.to_string(), desc.to_string());
}

/// Checks for the same shape, of any dtype.
inline void require_shape(const TensorDesc& desc, const Shape& expected, const char* what) {
  require(desc.shape == expected, "{}: expected shape {}, got {}", what, expected.to_string(), desc.to_string());
}

/// Checks that batch norms' kernels can fuse the activation.
inline void require_norm_activation(Activation activation) {
  require(get_traits(activation).in_norms, "a batch norm cannot fuse {}", to_string(activation));
}

/// Checks that the activation is a gate and `data` can have its mask (mask_desc).
inline void require_gate(Activation activation, const TensorDesc& data) {
  require(is_gate(activation), "the input of {} after a residual is not saved", to_string(activation));
  require(data.shape[-1] % 8 == 0, "a mask: expected a multiple of 8 channels, got {}", data.to_string());
}

/// Checks that inputs `first` to `last` hold one value per channel.
inline void require_channels(std::span<const TensorDesc> inputs, int first, int last, const TensorDesc& channels) {
  for (int i = first; i <= last; ++i) {
    require_desc(inputs[static_cast<std::size_t>(i)], channels, "per-channel value");
  }
}

/// Checks the random state {seed, step, part} that ops with dropout read. A step's samples may be computed in several
/// parts, by several ranks and in several micro-batches: part p's elements continue the numbering after those of parts
/// 0 to p - 1, so the masks equal those of the whole step in one part.
inline void require_rng(const TensorDesc& desc) { require_desc(desc, {DType::i64, Shape{3}}, "rng"); }

/// Checks the offsets [B+1] that pack B sequences into one axis of tokens, the first at 0: FlashAttention's cu_seqlens.
/// Tokens after the last sequence are padding.
inline void require_offsets(const TensorDesc& desc) {
  require(desc.dtype == DType::i32 && desc.shape.rank() == 1 && desc.shape[0] >= 2,
          "offsets: expected i32 [B+1], got {}", desc.to_string());
}

/// Checks the number of tokens [B] of packed sequences that were computed before, which these continue.
inline void require_past(const TensorDesc& desc, const TensorDesc& offsets) {
  require_desc(desc, {DType::i32, Shape{offsets.shape[0] - 1}}, "past");
}

/// All axes but the last.
inline Shape leading_shape(const Shape& shape) {
  require(shape.rank() >= 1, "expected at least one axis");
  return Shape(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1));
}

/// `shape` with its last axis replaced.
inline Shape with_last(const Shape& shape, std::int64_t last) {
  std::vector<std::int64_t> dims = leading_shape(shape).dims();
  dims.push_back(last);
  return Shape(std::move(dims));
}

}  // namespace ptrain
