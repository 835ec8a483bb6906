// A naive layer with weights in blocks, in double: x rounded to 8 bits block by block, weights dequantised, multiplied.
#pragma once

#include "core/ops/quantization/block_linear.h"
#include "core/ops/require.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/linear.h"

#include <cmath>

namespace ptrain::testing {

/// The blocks of weights [rows, columns]: any bytes, but for scales and least values, which are below `largest`.
inline HostTensor random_blocks(BlockFormat format, const Shape& weights, std::uint64_t seed, double largest = 0.01) {
  HostTensor blocks = random_tensor(DType::u8, describe_blocks(format, weights).shape, seed, 0, 256);
  const bool has_least = format == BlockFormat::q4_1 || format == BlockFormat::q4_k || format == BlockFormat::q5_k;
  const std::int64_t each = block_bytes(format), halves = has_least ? 2 : 1;
  const std::int64_t first = format == BlockFormat::q6_k ? each - 2 : 0;
  const std::int64_t count = blocks.desc.count() / each;
  const HostTensor scales = random_tensor(DType::f16, Shape{count * halves}, seed + 1, -largest, largest);
  for (std::int64_t i = 0; i < count * halves; ++i) {
    const unsigned bits = f16(static_cast<float>(scales.values[static_cast<std::size_t>(i)])).bits;
    const auto at = static_cast<std::size_t>(i / halves * each + first + i % halves * 2);
    blocks.values[at] = bits & 255;
    blocks.values[at + 1] = bits >> 8;
  }
  return blocks;
}

/// The weights that blocks stand for.
inline HostTensor from_blocks(BlockFormat format, const HostTensor& blocks) {
  const Shape shape{blocks.desc.shape[0], blocks.desc.shape[1] / block_bytes(format) * block_elements(format)};
  std::vector<std::byte> bytes;
  for (const double byte : blocks.values) bytes.push_back(static_cast<std::byte>(static_cast<int>(byte)));
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  dequantize_blocks(format, bytes, values);
  return {{DType::f32, shape}, std::vector<double>(values.begin(), values.end())};
}

/// Every 32 elements rounded to multiples of a 127th of the largest of them.
inline HostTensor rounded_to_8_bits(HostTensor x) {
  for (std::size_t first = 0; first < x.values.size(); first += block_row_elements) {
    float largest = 0;
    for (std::size_t i = first; i < first + block_row_elements; ++i) {
      largest = std::max(largest, std::abs(static_cast<float>(x.values[i])));
    }
    for (std::size_t i = first; i < first + block_row_elements && largest > 0; ++i) {
      const float integer = std::nearbyint(static_cast<float>(x.values[i]) * (127 / largest));
      x.values[i] = static_cast<double>(integer) * static_cast<double>(largest) / 127;
    }
  }
  return x;
}

inline std::vector<std::vector<double>> block_linear_reference(BlockFormat format, const std::vector<HostTensor>& in) {
  return linear_reference({rounded_to_8_bits(in[0]), from_blocks(format, in[1]), in[2]}, Activation::none);
}

/// {dx}: dy w.
inline std::vector<std::vector<double>> block_linear_grad_input_reference(BlockFormat format,
                                                                          const std::vector<HostTensor>& in) {
  const HostTensor& dy = in[0];
  const HostTensor w = from_blocks(format, in[1]);
  const Shape shape = with_last(dy.desc.shape, w.desc.shape[1]);
  const HostTensor saved = tensor(DType::f32, shape, std::vector<double>(static_cast<std::size_t>(shape.count())));
  return {linear_grad_input_reference({dy, w, saved}, Activation::none)[0]};
}

}  // namespace ptrain::testing
