// TrivialAugment (Mueller and Hutter 2021): applies one of fourteen operations, drawn at random with its magnitude, to
// a training image.
#pragma once

#include "core/data/dataset.h"

#include <array>
#include <string_view>

namespace ptrain {

enum class AugmentOp {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  colour,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize
};
constexpr int augment_ops = 14;
constexpr int augment_magnitudes = 31;  // magnitudes per operation, from none to the largest

/// The operation's name in torchvision ("ShearX", "Color").
std::string_view to_string(AugmentOp change);

/// Applies an operation to `pixels` [height, width, 3] as torchvision's TrivialAugmentWide does to a uint8 tensor:
/// nearest pixel, black outside. `amount` is from 0 to augment_magnitudes - 1; `negative` reverses operations with two
/// directions (shear to sharpness).
void apply_augment_op(std::span<std::uint8_t> pixels, ImageSize size, AugmentOp change, int amount, bool negative,
                      std::vector<std::uint8_t>& scratch);

/// Draws operation, amount and direction uniformly, and applies them.
void apply_trivial_augment(std::span<std::uint8_t> pixels, ImageSize size, SampleRandom random,
                           std::vector<std::uint8_t>& scratch);

}  // namespace ptrain
