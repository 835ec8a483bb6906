// Colours of classes: palettes of label maps, and images with their classes' colours over them.
#pragma once

#include "core/data/image/resize.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

using Colour = std::array<std::uint8_t, 3>;  // red first

/// The first `count` colours of PASCAL VOC's palette, in which the bits of a number are dealt to red, green and blue.
std::vector<Colour> voc_palette(std::size_t count);

/// Pixels [height, width, 3]: the image and the colour of each pixel's class in equal parts. Where `classes` [height,
/// width] is below 0 it is the image's pixel.
std::vector<std::uint8_t> blend_classes(const DecodedImage& image, std::span<const std::int32_t> classes,
                                        std::span<const Colour> colours);

}  // namespace ptrain
