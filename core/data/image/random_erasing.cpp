#include "core/data/image/random_erasing.h"

#include <algorithm>
#include <cmath>

namespace ptrain {

void erase_randomly(std::span<std::uint8_t> pixels, ImageSize size, float probability,
                    const std::array<std::uint8_t, 3>& colour, SampleRandom random) {
  constexpr float smallest = 0.02f, largest = 0.33f, log_longest = 1.1939225f;  // fraction of the area; ln 3.3
  constexpr float log_shortest = -1.2039728f;                                   // ln 0.3
  if (random.uniform() >= probability) return;
  const auto area = static_cast<float>(size.pixels());
  for (int attempt = 0; attempt < 10; ++attempt) {
    const float erased = area * random.uniform(smallest, largest);
    const float ratio = std::exp(random.uniform(log_shortest, log_longest));
    const int height = static_cast<int>(std::lround(std::sqrt(erased * ratio)));
    const int width = static_cast<int>(std::lround(std::sqrt(erased / ratio)));
    if (height >= size.height || width >= size.width) continue;
    const int top = random.below(size.height - height + 1), left = random.below(size.width - width + 1);
    for (int y = top; y < top + height; ++y) {
      std::uint8_t* pixel =
          pixels.data() + (std::size_t{3} * (static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                                             static_cast<std::size_t>(left)));
      for (int x = 0; x < width; ++x) pixel = std::copy(colour.begin(), colour.end(), pixel);
    }
    return;
  }
}

std::array<std::uint8_t, 3> mean_colour(const DatasetInfo& info) {
  std::array<std::uint8_t, 3> colour{};
  std::transform(info.mean.begin(), info.mean.end(), colour.begin(),
                 [](float mean) { return static_cast<std::uint8_t>(std::lround(mean * 255)); });
  return colour;
}

}  // namespace ptrain
