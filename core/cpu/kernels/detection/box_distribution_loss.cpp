// Sums are made in parts of a fixed number of boxes, so that they do not depend on the number of threads.
#include "core/ops/detection/box_distribution_loss.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/box_distribution.h"

#include <algorithm>

namespace ptrain::cpu {
namespace {

/// The bins of one box.
template <typename T>
class BoxBins {
 public:
  BoxBins(const T* bins, std::int64_t count) : bins_(bins), count_(count) {
    for (int side = 0; side < box_sides; ++side) sides_[side] = describe_side(count, loader(side));
  }

  std::int64_t count() const { return count_; }
  const SideDistribution& side(int i) const { return sides_[i]; }
  auto loader(int side) const {
    return [bins = bins_ + side * count_](std::int64_t k) { return static_cast<float>(bins[k]); };
  }
  SideDistances means() const { return {sides_[0].mean, sides_[1].mean, sides_[2].mean, sides_[3].mean}; }

 private:
  const T* bins_;
  std::int64_t count_;
  SideDistribution sides_[box_sides];
};

SideDistances read_distances(const float* from) { return {from[0], from[1], from[2], from[3]}; }

class BoxDistributionLossKernel final : public Kernel {
 public:
  explicit BoxDistributionLossKernel(const KernelContext& context)
      : bins_(context.inputs[BoxDistributionLoss::bins]),
        boxes_(bins_.shape[0] * bins_.shape[1]),
        sums_(static_cast<std::size_t>((boxes_ + part_boxes - 1) / part_boxes)) {}

  void run(const KernelArgs& args) override {
    visit_floating(bins_.dtype, [&](auto zero) {
      const auto* bins = static_cast<const decltype(zero)*>(args.inputs[BoxDistributionLoss::bins]);
      const auto* targets = static_cast<const float*>(args.inputs[BoxDistributionLoss::targets]);
      const auto* weights = static_cast<const float*>(args.inputs[BoxDistributionLoss::weights]);
      parallel_for(static_cast<std::int64_t>(sums_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
          Sums sums;
          for (std::int64_t i = part * part_boxes; i < std::min(boxes_, (part + 1) * part_boxes); ++i) {
            if (weights[i] != 0) add(sums, bins + i * bins_.shape[2], targets + i * box_sides, weights[i]);
          }
          sums_[static_cast<std::size_t>(part)] = sums;
        }
      });
    });
    Sums total;
    for (const Sums& part : sums_) {
      total.overlap += part.overlap;
      total.distribution += part.distribution;
    }
    *static_cast<float*>(args.outputs[BoxDistributionLoss::overlap]) = static_cast<float>(total.overlap);
    *static_cast<float*>(args.outputs[BoxDistributionLoss::distribution]) = static_cast<float>(total.distribution);
  }

 private:
  static constexpr std::int64_t part_boxes = 1024;
  struct Sums {
    double overlap = 0, distribution = 0;
  };

  template <typename T>
  void add(Sums& sums, const T* bins, const float* target, float weight) const {
    const BoxBins<T> box(bins, bins_.shape[2] / box_sides);
    float entropies = 0;
    for (int side = 0; side < box_sides; ++side) {
      entropies += side_cross_entropy(box.side(side), SplitDistance(target[side], box.count()), box.loader(side));
    }
    const float overlap = overlap_loss(box.means(), read_distances(target)).value;
    sums.overlap += static_cast<double>(weight) * static_cast<double>(overlap);
    sums.distribution += static_cast<double>(weight) * static_cast<double>(entropies / box_sides);
  }

  TensorDesc bins_;
  std::int64_t boxes_;
  std::vector<Sums> sums_;
};

class BoxDistributionLossGradKernel final : public Kernel {
 public:
  explicit BoxDistributionLossGradKernel(const KernelContext& context)
      : bins_(context.inputs[BoxDistributionLossGrad::bins]) {}

  void run(const KernelArgs& args) override {
    const float doverlap = read_gradient(args, BoxDistributionLossGrad::doverlap);
    const float ddistribution = read_gradient(args, BoxDistributionLossGrad::ddistribution);
    const auto* targets = static_cast<const float*>(args.inputs[BoxDistributionLossGrad::targets]);
    const auto* weights = static_cast<const float*>(args.inputs[BoxDistributionLossGrad::weights]);
    visit_floating(bins_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* bins = static_cast<const T*>(args.inputs[BoxDistributionLossGrad::bins]);
      auto* gradients = static_cast<T*>(args.outputs[0]);
      const std::int64_t each = bins_.shape[2];
      parallel_for(bins_.shape[0] * bins_.shape[1], 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          if (weights[i] == 0) {
            std::fill_n(gradients + i * each, each, T(0.0f));
            continue;
          }
          write(bins + i * each, targets + i * box_sides, weights[i] * doverlap, weights[i] * ddistribution / box_sides,
                gradients + i * each);
        }
      });
    });
  }

 private:
  static float read_gradient(const KernelArgs& args, std::size_t input) {
    const bool is_given = args.inputs.size() > input && args.inputs[input] != nullptr;
    return is_given ? *static_cast<const float*>(args.inputs[input]) : 0.0f;
  }

  template <typename T>
  void write(const T* bins, const float* target, float by_overlap, float by_entropy, T* gradients) const {
    const BoxBins<T> box(bins, bins_.shape[2] / box_sides);
    const SideDistances slopes = overlap_loss(box.means(), read_distances(target)).gradient;
    const float by_mean[box_sides]{slopes.left, slopes.top, slopes.right, slopes.bottom};
    for (int side = 0; side < box_sides; ++side) {
      const SideDistribution& own = box.side(side);
      const SplitDistance wanted(target[side], box.count());
      const auto load = box.loader(side);
      for (std::int64_t k = 0; k < box.count(); ++k) {
        const float p = own.probability(load(k));
        gradients[side * box.count() + k] =
            T(by_overlap * by_mean[side] * p * (static_cast<float>(k) - own.mean) + by_entropy * (p - wanted.share(k)));
      }
    }
  }

  TensorDesc bins_;
};

}  // namespace

std::unique_ptr<Kernel> make_box_distribution_loss(const KernelContext& context) {
  return std::make_unique<BoxDistributionLossKernel>(context);
}
std::unique_ptr<Kernel> make_box_distribution_loss_grad(const KernelContext& context) {
  return std::make_unique<BoxDistributionLossGradKernel>(context);
}

}  // namespace ptrain::cpu
