// Random erasing (Zhong et al. 2017): erases a rectangle of a training image.
#pragma once

#include "core/data/dataset.h"

namespace ptrain {

/// With `probability`, fills one rectangle of `pixels` [height, width, 3] with `colour`: 2 to 33 % of the area, ratio
/// 0.3 to 3.3, anywhere, as torchvision draws it. If ten drawn rectangles do not fit, the image is unchanged.
void erase_randomly(std::span<std::uint8_t> pixels, ImageSize size, float probability,
                    const std::array<std::uint8_t, 3>& colour, SampleRandom random);

/// The mean pixel of a data set, which is zero after normalisation.
std::array<std::uint8_t, 3> mean_colour(const DatasetInfo& info);

}  // namespace ptrain
