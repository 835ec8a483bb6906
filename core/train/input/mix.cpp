#include "core/train/input/mix.h"

#include "core/base/parallel.h"
#include "core/base/rng.h"
#include "core/data/sample_random.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

/// The draws of one micro-batch.
class Draws {
 public:
  Draws(std::int64_t seed, std::int64_t epoch, std::int64_t number)
      : stream_{static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(epoch),
                static_cast<std::uint32_t>(DataStream::mix)},
        element_(static_cast<std::uint64_t>(number) << 16) {}

  double uniform() { return static_cast<double>(stream_.uniform(element_++)); }
  int below(int count) { return std::min(count - 1, static_cast<int>(uniform() * count)); }
  /// Draws from Beta(a, a), by Jöhnk's method.
  double beta(double a) {
    for (;;) {
      const double x = std::pow(uniform(), 1 / a), y = std::pow(uniform(), 1 / a);
      if (x + y > 0 && x + y <= 1) return x / (x + y);
    }
  }

 private:
  RandomStream stream_;
  std::uint64_t element_;
};

}  // namespace

MixDraw draw_mix(const TrainConfig& train, std::int64_t seed, ImageSize size, std::int64_t epoch, std::int64_t number) {
  const double mixup = train.mixup, cutmix = train.cutmix;
  Draws draws(seed, epoch, number);
  MixDraw draw;
  draw.cut = cutmix > 0 && (mixup == 0 || draws.uniform() < 0.5);
  draw.share = draws.beta(draw.cut ? cutmix : mixup);
  if (!draw.cut) return draw;
  const int x = draws.below(size.width), y = draws.below(size.height);
  const double half = 0.5 * std::sqrt(1 - draw.share);
  const int half_width = static_cast<int>(half * size.width), half_height = static_cast<int>(half * size.height);
  draw.left = std::max(0, x - half_width), draw.right = std::min(size.width, x + half_width);
  draw.top = std::max(0, y - half_height), draw.bottom = std::min(size.height, y + half_height);
  const auto cut = static_cast<double>((draw.right - draw.left) * (draw.bottom - draw.top));
  draw.share = 1 - cut / static_cast<double>(size.pixels());
  return draw;
}

Batch mix_rows(const Batch& batch, const MixDraw& draw) {
  const auto rows = static_cast<std::size_t>(batch.count);
  Batch mixed = batch;
  const auto labels = batch.values<std::int32_t>(tensor_names::labels).first(rows);
  const auto others = mixed.add({tensor_names::mixup_labels, DType::i32}).values<std::int32_t>().first(rows);
  mixed.add_common(tensor_names::mixup_lambda, DType::f32, {1}).values<float>()[0] = static_cast<float>(draw.share);
  std::ranges::copy(labels, others.begin());
  if (rows < 2) return mixed;
  std::rotate_copy(labels.begin(), labels.end() - 1, labels.end(), others.begin());
  const ImageSize size = find_image_size(batch);
  const std::size_t line_bytes = std::size_t{3} * static_cast<std::size_t>(size.width);
  const std::size_t image_bytes = line_bytes * static_cast<std::size_t>(size.height);
  const HostTensor& images = batch.at(tensor_names::images);
  HostTensor& mixed_images = mixed.at(tensor_names::images);
  const auto bytes = static_cast<std::size_t>(images.row_count());  // per row: an image, or a clip's frames
  const auto share = static_cast<float>(draw.share);
  parallel_for(batch.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      std::uint8_t* own = mixed_images.values<std::uint8_t>().data() + row * bytes;
      const std::uint8_t* other = images.values<std::uint8_t>().data() + (row + rows - 1) % rows * bytes;
      if (!draw.cut) {
        for (std::size_t i = 0; i < bytes; ++i) {
          const float both = share * static_cast<float>(own[i]) + (1 - share) * static_cast<float>(other[i]);
          own[i] = static_cast<std::uint8_t>(both + 0.5f);
        }
        continue;
      }
      for (std::size_t image = 0; image < bytes; image += image_bytes) {
        for (int y = draw.top; y < draw.bottom; ++y) {
          const std::size_t line = image + static_cast<std::size_t>(y) * line_bytes;
          const std::size_t left = line + 3 * static_cast<std::size_t>(draw.left);
          std::copy(other + left, other + line + 3 * static_cast<std::size_t>(draw.right), own + left);
        }
      }
    }
  });
  return mixed;
}

}  // namespace ptrain
