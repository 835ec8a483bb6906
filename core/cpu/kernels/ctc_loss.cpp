// A sample at a time; the samples' losses are added in order, whatever the number of threads.
#include "core/ops/sequence/ctc_loss.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/ctc.h"

#include <algorithm>
#include <cmath>

namespace ptrain::cpu {
namespace {

/// The samples that have a label; 1 if none has.
float count_labelled(const CtcExtent& extent, const std::int32_t* labels) {
  std::int64_t count = 0;
  for (std::int64_t n = 0; n < extent.samples; ++n) count += extent.positions(labels, n).length > 0 ? 1 : 0;
  return static_cast<float>(std::max<std::int64_t>(count, 1));
}

/// log(sum(exp(logits)))
template <typename T>
float normalize_step(const T* logits, std::int64_t classes) {
  auto largest = static_cast<float>(logits[0]);
#pragma omp simd reduction(max : largest)
  for (std::int64_t c = 1; c < classes; ++c) {
    const auto value = static_cast<float>(logits[c]);
    largest = value > largest ? value : largest;
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < classes; ++c) sum += fast_exp(static_cast<float>(logits[c]) - largest);
  return largest + std::log(sum);
}

class CtcLossKernel final : public Kernel {
 public:
  explicit CtcLossKernel(const KernelContext& context)
      : dtype_(context.inputs[CtcLoss::logits].dtype),
        extent_(context.inputs[CtcLoss::logits].shape, context.inputs[CtcLoss::labels].shape,
                context.op_as<CtcLoss>().attrs().blank) {}

  void run(const KernelArgs& args) override {
    const auto* labels = static_cast<const std::int32_t*>(args.inputs[CtcLoss::labels]);
    auto* losses = static_cast<float*>(args.outputs[CtcLoss::sample_losses]);
    auto* normalizers = static_cast<float*>(args.outputs[CtcLoss::normalizers]);
    auto* alphas = static_cast<float*>(args.outputs[CtcLoss::alphas]);
    const std::int64_t steps = extent_.steps;
    visit_floating(dtype_, [&](auto zero) {
      const auto* logits = static_cast<const decltype(zero)*>(args.inputs[CtcLoss::logits]);
      parallel_for(extent_.samples, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          losses[n] = compute_loss(extent_.positions(labels, n), logits + n * steps * extent_.classes,
                                   normalizers + n * steps, alphas + n * steps * extent_.most_positions());
        }
      });
    });
    double total = 0;
    for (std::int64_t n = 0; n < extent_.samples; ++n) total += static_cast<double>(losses[n]);
    *static_cast<float*>(args.outputs[CtcLoss::loss]) = static_cast<float>(total) / count_labelled(extent_, labels);
  }

 private:
  template <typename T>
  float compute_loss(const CtcPositions& positions, const T* logits, float* normalizers, float* alphas) const {
    const std::int64_t classes = extent_.classes, each = extent_.most_positions();
    for (std::int64_t t = 0; t < extent_.steps; ++t) normalizers[t] = normalize_step(logits + t * classes, classes);
    if (!positions.are_learnt(extent_.steps)) return 0;
    const float* before = nullptr;
    for (std::int64_t t = 0; t < extent_.steps; ++t) {
      float* const alpha = alphas + t * each;
      for (std::int64_t s = 0; s < positions.count(); ++s) {
        const auto logit = static_cast<float>(logits[t * classes + positions.symbol(s)]);
        alpha[s] = positions.come_to(s, before) + (logit - normalizers[t]);
      }
      before = alpha;
    }
    return positions.negative_likelihood(before);
  }

  DType dtype_;
  CtcExtent extent_;
};

class CtcLossGradKernel final : public Kernel {
 public:
  explicit CtcLossGradKernel(const KernelContext& context)
      : dtype_(context.inputs[CtcLossGrad::logits].dtype),
        extent_(context.inputs[CtcLossGrad::logits].shape, context.inputs[CtcLossGrad::labels].shape,
                context.op_as<CtcLossGrad>().attrs().blank) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(extent_.samples * floats_per_sample()) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    const auto* labels = static_cast<const std::int32_t*>(args.inputs[CtcLossGrad::labels]);
    const float scale = *static_cast<const float*>(args.inputs[CtcLossGrad::dloss]) / count_labelled(extent_, labels);
    auto* const workspace = static_cast<float*>(args.workspace);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(extent_.samples, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          differentiate<T>(args, n, extent_.positions(labels, n), scale, workspace + n * floats_per_sample());
        }
      });
    });
  }

 private:
  /// The backward variables of two steps, and the gradients of one.
  std::int64_t floats_per_sample() const { return 2 * extent_.most_positions() + extent_.classes; }

  template <typename T>
  void differentiate(const KernelArgs& args, std::int64_t n, const CtcPositions& positions, float scale,
                     float* workspace) const {
    const std::int64_t steps = extent_.steps, classes = extent_.classes, each = extent_.most_positions();
    const T* const logits = static_cast<const T*>(args.inputs[CtcLossGrad::logits]) + n * steps * classes;
    T* const gradients = static_cast<T*>(args.outputs[0]) + n * steps * classes;
    if (!positions.are_learnt(steps)) {
      std::fill_n(gradients, steps * classes, T(0.0f));
      return;
    }
    const float loss = static_cast<const float*>(args.inputs[CtcLossGrad::sample_losses])[n];
    const float* const normalizers = static_cast<const float*>(args.inputs[CtcLossGrad::normalizers]) + n * steps;
    const float* const alphas = static_cast<const float*>(args.inputs[CtcLossGrad::alphas]) + n * steps * each;
    float* beta = workspace;
    float* other = workspace + each;
    float* const step = workspace + 2 * each;
    const float* after = nullptr;
    for (std::int64_t t = steps - 1; t >= 0; --t) {
      const T* const row = logits + t * classes;
      for (std::int64_t c = 0; c < classes; ++c) step[c] = fast_exp(static_cast<float>(row[c]) - normalizers[t]);
      for (std::int64_t s = 0; s < positions.count(); ++s) {
        const std::int32_t symbol = positions.symbol(s);
        const float onward = positions.go_on(s, after);
        step[symbol] -= fast_exp(alphas[t * each + s] + onward + loss);
        beta[s] = onward + (static_cast<float>(row[symbol]) - normalizers[t]);
      }
      for (std::int64_t c = 0; c < classes; ++c) gradients[t * classes + c] = T(scale * step[c]);
      after = beta;
      std::swap(beta, other);
    }
  }

  DType dtype_;
  CtcExtent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_ctc_loss(const KernelContext& context) { return std::make_unique<CtcLossKernel>(context); }
std::unique_ptr<Kernel> make_ctc_loss_grad(const KernelContext& context) {
  return std::make_unique<CtcLossGradKernel>(context);
}

}  // namespace ptrain::cpu
