// The block types of GGUF files, as ggml defines them (ggml-common.h, ggml-quants.c): a block holds a scale or several
// and the small integers of 32 or 256 adjacent elements of a row.
#pragma once

#include "core/base/block_format.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptrain {

struct GgufBlockType {
  std::string_view name;
  std::int64_t elements;
  std::size_t bytes;
  void (*dequantize)(const std::byte* block, float* values);
  std::optional<BlockFormat> format;  // if it is one of those that layers read as they are
};

/// The type of that name; null for another.
const GgufBlockType* find_gguf_block_type(std::string_view name);

/// values = the elements of whole blocks, in f32: the same bits as ggml's and its Python package's.
void dequantize_blocks(const GgufBlockType& type, std::span<const std::byte> blocks, std::span<float> values);

}  // namespace ptrain
