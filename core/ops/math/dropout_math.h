// Which elements dropout keeps: a pure function of (seed, step, stream, element), the same on every backend.
#pragma once

#include "core/base/rng.h"

namespace ptrain {

/// Each element draws 16 of Philox's bits; it is kept when they reach the threshold, so p is rounded to 1/65536 and the
/// scale is exact for the rounded p.
/// A group of 128 elements shares 16 Philox blocks, so that 16 lanes draw without shuffling: of the element's index in
/// its group, the low four bits choose the block, the next two the word, the top one the half of the word.
struct DropoutMask {
  RandomStream random;
  std::uint32_t threshold = 0;
  float scale = 1;
  std::uint64_t origin = 0;  // number of element 0, where a step is computed in several parts

  static constexpr std::uint64_t group = 128;

  PTRAIN_HD DropoutMask(float p, std::uint64_t seed, std::uint64_t step, std::uint32_t stream)
      : random{seed, step, stream}, threshold(static_cast<std::uint32_t>(p * 65536.0f + 0.5f)) {
    threshold = threshold > 65535u ? 65535u : threshold;
    scale = 65536.0f / static_cast<float>(65536u - threshold);
  }
  PTRAIN_HD bool keeps(std::uint64_t element) const {
    const std::uint64_t number = origin + element;
    const std::uint32_t index = static_cast<std::uint32_t>(number % group);
    const Philox4 words = random.block(number / group * 16 + index % 16);
    const std::uint32_t word = (index / 16) % 4;
    const std::uint32_t bits = word == 0 ? words.x : word == 1 ? words.y : word == 2 ? words.z : words.w;
    return ((bits >> (index / 64 * 16)) & 0xffffu) >= threshold;
  }
  /// 0 or scale.
  PTRAIN_HD float factor(std::uint64_t element) const { return keeps(element) ? scale : 0.0f; }
};

/// The key stride of attention's mask: the weight of (row, key), with rows counting (b, head, query), is element
/// row * attention_mask_stride(S) + key.
PTRAIN_HD_INLINE std::uint64_t attention_mask_stride(std::int64_t keys) {
  return static_cast<std::uint64_t>((keys + 15) / 16 * 16);
}

}  // namespace ptrain
