// Sums are made in parts of a fixed number of rows, so that they do not depend on the number of threads.
#include "core/ops/detection/sigmoid_focal_loss.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/focal_loss.h"

#include <algorithm>
#include <numeric>

namespace ptrain::cpu {
namespace {

struct ClassRows {
  explicit ClassRows(const TensorDesc& logits)
      : dtype(logits.dtype), classes(logits.shape[-1]), count(logits.count() / logits.shape[-1]) {}

  DType dtype;
  std::int64_t classes, count;
};

/// Whether `label` is one of the classes.
bool has_class(std::int32_t label, const ClassRows& rows) { return label >= 0 && label < rows.classes; }

/// What rows have besides their logits; the latter two are null where all weigh 1, and where no row has a score.
struct RowTargets {
  const std::int32_t* labels;
  const float* weights;
  const float* scores;

  explicit RowTargets(const KernelArgs& args)
      : labels(static_cast<const std::int32_t*>(args.inputs[SigmoidFocalLoss::labels])),
        weights(find_floats(args, SigmoidFocalLoss::weights)),
        scores(find_floats(args, SigmoidFocalLoss::scores)) {}
  float weight(std::int64_t r) const { return weights == nullptr ? 1.0f : weights[r]; }

 private:
  static const float* find_floats(const KernelArgs& args, std::size_t input) {
    return args.inputs.size() > input ? static_cast<const float*>(args.inputs[input]) : nullptr;
  }
};

class SigmoidFocalLossKernel final : public Kernel {
 public:
  explicit SigmoidFocalLossKernel(const KernelContext& context)
      : rows_(context.inputs[SigmoidFocalLoss::logits]),
        alpha_(context.op_as<SigmoidFocalLoss>().attrs().alpha),
        sums_(static_cast<std::size_t>((rows_.count + part_rows - 1) / part_rows)) {}

  void run(const KernelArgs& args) override {
    const RowTargets targets(args);
    visit_floating(rows_.dtype, [&](auto zero) {
      const auto* logits = static_cast<const decltype(zero)*>(args.inputs[SigmoidFocalLoss::logits]);
      parallel_for(static_cast<std::int64_t>(sums_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
          const std::int64_t last = std::min(rows_.count, (part + 1) * part_rows);
          double sum = 0;
          for (std::int64_t r = part * part_rows; r < last; ++r) {
            const float weight = targets.weight(r);
            if (weight == 0) continue;
            sum += static_cast<double>(weight) * static_cast<double>(sum_row(logits + r * rows_.classes, targets, r));
          }
          sums_[static_cast<std::size_t>(part)] = sum;
        }
      });
    });
    *static_cast<float*>(args.outputs[0]) = static_cast<float>(std::accumulate(sums_.begin(), sums_.end(), 0.0));
  }

 private:
  static constexpr std::int64_t part_rows = 1024;

  template <typename T>
  float sum_row(const T* logits, const RowTargets& targets, std::int64_t r) const {
    const std::int32_t label = targets.labels[r];
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = 0; k < rows_.classes; ++k) sum += focal_loss(static_cast<float>(logits[k]));
    sum *= 1 - alpha_;
    if (!has_class(label, rows_)) return sum;
    const auto own = static_cast<float>(logits[label]);
    const float right = targets.scores == nullptr ? alpha_ * focal_loss(-own) : scored_loss(own, targets.scores[r]);
    return sum - (1 - alpha_) * focal_loss(own) + right;
  }

  ClassRows rows_;
  float alpha_;
  std::vector<double> sums_;
};

class SigmoidFocalLossGradKernel final : public Kernel {
 public:
  explicit SigmoidFocalLossGradKernel(const KernelContext& context)
      : rows_(context.inputs[SigmoidFocalLossGrad::logits]),
        alpha_(context.op_as<SigmoidFocalLossGrad>().attrs().alpha) {}

  void run(const KernelArgs& args) override {
    const RowTargets targets(args);
    const float dloss = *static_cast<const float*>(args.inputs[SigmoidFocalLossGrad::dloss]);
    visit_floating(rows_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* logits = static_cast<const T*>(args.inputs[SigmoidFocalLossGrad::logits]);
      auto* gradients = static_cast<T*>(args.outputs[0]);
      parallel_for(rows_.count, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          write_row(logits + r * rows_.classes, targets, r, dloss * targets.weight(r), gradients + r * rows_.classes);
        }
      });
    });
  }

 private:
  /// `gradients` may be the logits.
  template <typename T>
  void write_row(const T* logits, const RowTargets& targets, std::int64_t r, float scale, T* gradients) const {
    const std::int32_t label = targets.labels[r];
    if (scale == 0) {
      std::fill_n(gradients, rows_.classes, T(0.0f));
      return;
    }
    const float own = has_class(label, rows_) ? static_cast<float>(logits[label]) : 0.0f;
    const float other = scale * (1 - alpha_);
#pragma omp simd
    for (std::int64_t k = 0; k < rows_.classes; ++k) {
      gradients[k] = T(other * focal_loss_gradient(static_cast<float>(logits[k])));
    }
    if (!has_class(label, rows_)) return;
    const bool is_scored = targets.scores != nullptr;
    gradients[label] =
        T(scale * (is_scored ? scored_loss_gradient(own, targets.scores[r]) : -alpha_ * focal_loss_gradient(-own)));
  }

  ClassRows rows_;
  float alpha_;
};

}  // namespace

std::unique_ptr<Kernel> make_sigmoid_focal_loss(const KernelContext& context) {
  return std::make_unique<SigmoidFocalLossKernel>(context);
}
std::unique_ptr<Kernel> make_sigmoid_focal_loss_grad(const KernelContext& context) {
  return std::make_unique<SigmoidFocalLossGradKernel>(context);
}

}  // namespace ptrain::cpu
