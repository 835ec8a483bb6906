#include "core/ops/detection/balanced_sample.h"

#include "core/base/parallel.h"
#include "core/base/rng.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/boxes.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ptrain::cpu {
namespace {

class BalancedSampleKernel final : public Kernel {
 public:
  explicit BalancedSampleKernel(const KernelContext& context)
      : attributes_(context.op_as<BalancedSample>().attrs()), matches_(context.inputs[BalancedSample::matches].shape) {}

  void run(const KernelArgs& args) override {
    const auto* rng = static_cast<const std::int64_t*>(args.inputs[BalancedSample::rng]);
    const RandomStream random{static_cast<std::uint64_t>(rng[0]), static_cast<std::uint64_t>(rng[1]),
                              attributes_.stream};
    const std::int64_t images = matches_[0], boxes = matches_[1], first = rng[2] * images;
    parallel_for(images, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Draw> positives, background;
      for (std::int64_t image = begin; image < end; ++image) {
        const auto* matches = static_cast<const std::int32_t*>(args.inputs[BalancedSample::matches]) + image * boxes;
        positives.clear();
        background.clear();
        for (std::int64_t i = 0; i < boxes; ++i) {
          if (matches[i] == BoxMatch::ignored) continue;
          const std::uint32_t number = random.bits(static_cast<std::uint64_t>((first + image) * boxes + i));
          (matches[i] >= 0 ? positives : background).emplace_back(number, static_cast<std::int32_t>(i));
        }
        draw(positives, attributes_.most_positives);
        draw(background, attributes_.count - static_cast<std::int32_t>(positives.size()));
        auto* sample = static_cast<std::int32_t*>(args.outputs[0]) + image * attributes_.count;
        std::int32_t* to = write(background, write(positives, sample));
        std::fill(to, sample + attributes_.count, -1);
      }
    });
  }

 private:
  using Draw = std::pair<std::uint32_t, std::int32_t>;  // a random number, and the box

  /// Keeps the smallest, in order.
  static void draw(std::vector<Draw>& draws, std::int32_t count) {
    const auto kept = std::min(draws.size(), static_cast<std::size_t>(count));
    std::partial_sort(draws.begin(), draws.begin() + static_cast<std::ptrdiff_t>(kept), draws.end());
    draws.resize(kept);
  }
  static std::int32_t* write(const std::vector<Draw>& draws, std::int32_t* to) {
    return std::ranges::transform(draws, to, &Draw::second).out;
  }

  BalancedSampleAttributes attributes_;
  Shape matches_;
};

}  // namespace

std::unique_ptr<Kernel> make_balanced_sample(const KernelContext& context) {
  return std::make_unique<BalancedSampleKernel>(context);
}

}  // namespace ptrain::cpu
