// TrivialAugment (Mueller and Hutter 2021): one change of a training image, drawn from fourteen, by a drawn amount.
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
constexpr int augment_magnitudes = 31;  // of each, from none to most

/// By its name in torchvision ("ShearX", "Color").
std::string_view to_string(AugmentOp change);

/// Changes `pixels` [height, width, 3] as torchvision's TrivialAugmentWide changes a uint8 tensor, nearest pixel, black
/// where nothing was. `amount` is from 0 to augment_magnitudes - 1; `negative` turns round the changes that have two
/// directions (shear to sharpness).
void apply_augment_op(std::span<std::uint8_t> pixels, ImageSize size, AugmentOp change, int amount, bool negative,
                      std::vector<std::uint8_t>& scratch);

/// Draws change, amount and direction, each alike often, and applies them.
void apply_trivial_augment(std::span<std::uint8_t> pixels, ImageSize size, SampleRandom random,
                           std::vector<std::uint8_t>& scratch);

}  // namespace ptrain
