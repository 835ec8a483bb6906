// One warp per row; blocks add the losses of parts of the rows in order, and one block those of the parts.
#include "core/ops/softmax_cross_entropy.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/mixed_label.h"

#include <algorithm>
#include <cmath>

namespace ptrain::cuda {
namespace {

constexpr int warp = 32;

template <typename T>
__global__ void __launch_bounds__(block_threads)
    softmax_loss_kernel(const T* all_logits, MixedLabels labels, std::int64_t rows, std::int64_t classes,
                        float smoothing, float* all_probabilities, float* losses) {
  const std::int64_t r = grid_thread() / warp;
  if (r >= rows) return;
  const T* logits = all_logits + r * classes;
  float* probabilities = all_probabilities + r * classes;
  const std::int64_t lane = threadIdx.x % warp;
  float largest = -INFINITY;
  float total = 0, weights = 0;
  for (std::int64_t c = lane; c < classes; c += warp) {
    const float value = to_float(logits[c]), weight = labels.class_weight(c);
    largest = fmaxf(largest, value);
    total += weight * value;
    weights += weight;
  }
  // Read before the probabilities are written, which may overwrite the logits.
  const bool counts = labels.own[r] != ignored_label;
  const float of_labels =
      counts ? labels.mean(r, [logits](std::int32_t label) { return to_float(logits[label]); }) : 0.0f;
  largest = warp_max(largest);
  const float mean = warp_sum(total) / static_cast<float>(classes);
  const float mean_weight = warp_sum(weights) / static_cast<float>(classes);
  float sum = 0;
  for (std::int64_t c = lane; c < classes; c += warp) {
    const float e = expf(to_float(logits[c]) - largest);  // a NaN stays NaN, although fmaxf ignores it
    probabilities[c] = e;
    sum += e;
  }
  sum = warp_sum(sum);
  const float scale = 1 / sum;
  for (std::int64_t c = lane; c < classes; c += warp) probabilities[c] *= scale;
  if (lane != 0) return;
  if (!counts) {
    losses[r] = 0;
    return;
  }
  const float of_row = labels.class_weight(labels.own[r]);
  losses[r] = labels.target_weight(r, smoothing, mean_weight) * (largest + logf(sum)) -
              (1 - smoothing) * of_row * of_labels - smoothing * mean;
}

/// Sums over rows: of losses, and of the rows that count or of their weights.
struct LossSums {
  double loss, counted;
};

/// Blocks that add rows, which may be all pixels of a batch: of whole thousands of rows, at most one for each thread of
/// the block that adds them up.
int count_loss_parts(std::int64_t rows) {
  constexpr std::int64_t rows_per_part = 4096;
  return static_cast<int>(std::clamp<std::int64_t>(rows / rows_per_part, 1, block_threads));
}

/// Sums of one part of the rows per block; `losses` may be null.
__global__ void __launch_bounds__(block_threads)
    loss_sums_kernel(const float* losses, MixedLabels labels, std::int64_t rows, LossSums* partial) {
  const std::int64_t parts = gridDim.x, part = blockIdx.x;
  double loss = 0, counted = 0;
  for (std::int64_t r = rows * part / parts + threadIdx.x; r < rows * (part + 1) / parts; r += block_threads) {
    if (losses != nullptr) loss += static_cast<double>(losses[r]);
    counted += static_cast<double>(labels.row_weight(r, ignored_label));
  }
  loss = block_sum(loss);
  counted = block_sum(counted);
  if (threadIdx.x == 0) partial[part] = {loss, counted};
}

/// In thread 0: the sums of all parts; `counted` is 1 if no row counts. All threads of the block call it.
__device__ LossSums add_loss_parts(const LossSums* partial, int parts) {
  const bool has_part = threadIdx.x < static_cast<unsigned>(parts);
  const double loss = block_sum(has_part ? partial[threadIdx.x].loss : 0.0);
  const double counted = block_sum(has_part ? partial[threadIdx.x].counted : 0.0);
  return {loss, counted > 0 ? counted : 1.0};
}

__global__ void __launch_bounds__(block_threads) mean_kernel(const LossSums* partial, int parts, float* loss) {
  const LossSums sums = add_loss_parts(partial, parts);
  if (threadIdx.x == 0) *loss = static_cast<float>(sums.loss / sums.counted);
}

/// Factors of the gradient for the whole batch.
struct BatchFactors {
  float row_scale, mean_weight;
};

__global__ void __launch_bounds__(block_threads)
    factors_kernel(MixedLabels labels, const LossSums* partial, int parts, std::int64_t classes, const float* dloss,
                   BatchFactors* factors) {
  const auto counted = static_cast<float>(add_loss_parts(partial, parts).counted);
  float sum = 0;
  for (std::int64_t c = threadIdx.x; c < classes; c += block_threads) sum += labels.class_weight(c);
  const float weights = block_sum(sum);
  if (threadIdx.x == 0) *factors = {*dloss / counted, weights / static_cast<float>(classes)};
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    softmax_loss_grad_kernel(const float* probabilities, MixedLabels labels, std::int64_t rows, std::int64_t classes,
                             float smoothing, const BatchFactors* factors, T* dlogits) {
  const float everywhere = smoothing / static_cast<float>(classes);
  for (std::int64_t i = grid_thread(); i < rows * classes; i += grid_threads()) {
    const std::int64_t r = i / classes, c = i % classes;
    const float scale = factors->row_scale;
    if (labels.own[r] == ignored_label || scale == 0) {
      dlogits[i] = from_float<T>(0.0f);
      continue;
    }
    const float of_row = labels.target_weight(r, smoothing, factors->mean_weight);
    const float target = (everywhere + (1 - smoothing) * labels.weight(r, c)) * labels.class_weight(c);
    dlogits[i] = from_float<T>((probabilities[i] * of_row - target) * scale);
  }
}

class SoftmaxCrossEntropyKernel final : public Kernel {
 public:
  SoftmaxCrossEntropyKernel(const KernelContext& context, Device& device)
      : device_(device),
        logits_(context.inputs[0]),
        classes_(logits_.shape[-1]),
        rows_(logits_.count() / classes_),
        parts_(count_loss_parts(rows_)),
        smoothing_(context.op_as<SoftmaxCrossEntropy>().label_smoothing()) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(parts_) * sizeof(LossSums) + static_cast<std::size_t>(rows_) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    const MixedLabels labels = get_labels(args.inputs, SoftmaxCrossEntropy::labels, SoftmaxCrossEntropy::mixup_labels);
    auto* partial = static_cast<LossSums*>(args.workspace);
    auto* losses = reinterpret_cast<float*>(partial + parts_);
    const std::int64_t rows = rows_, classes = classes_;
    visit_floating(logits_.dtype, [&](auto zero) {
      launch(softmax_loss_kernel<decltype(zero)>, blocks_for(rows * warp), block_threads, device_,
             static_cast<const decltype(zero)*>(args.inputs[0]), labels, rows, classes, smoothing_,
             static_cast<float*>(args.outputs[1]), losses);
    });
    launch(loss_sums_kernel, static_cast<unsigned>(parts_), block_threads, device_, losses, labels, rows, partial);
    launch(mean_kernel, 1, block_threads, device_, partial, parts_, static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  TensorDesc logits_;
  std::int64_t classes_, rows_;
  int parts_;
  float smoothing_;
};

class SoftmaxCrossEntropyGradKernel final : public Kernel {
 public:
  SoftmaxCrossEntropyGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        shape_(context.inputs[0].shape),
        parts_(count_loss_parts(shape_.count() / shape_[-1])),
        attributes_(context.op_as<SoftmaxCrossEntropyGrad>().attrs()) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(parts_) * sizeof(LossSums) + sizeof(BatchFactors);
  }

  void run(const KernelArgs& args) override {
    const MixedLabels labels =
        get_labels(args.inputs, SoftmaxCrossEntropyGrad::labels, SoftmaxCrossEntropyGrad::mixup_labels);
    auto* partial = static_cast<LossSums*>(args.workspace);
    auto* factors = reinterpret_cast<BatchFactors*>(partial + parts_);
    const std::int64_t classes = shape_[-1], rows = shape_.count() / classes;
    launch(loss_sums_kernel, static_cast<unsigned>(parts_), block_threads, device_, nullptr, labels, rows, partial);
    launch(factors_kernel, 1, block_threads, device_, labels, partial, parts_, classes,
           static_cast<const float*>(args.inputs[SoftmaxCrossEntropyGrad::dloss]), factors);
    visit_floating(attributes_.dtype, [&](auto zero) {
      launch(softmax_loss_grad_kernel<decltype(zero)>, grid_blocks(device_, rows * classes), block_threads, device_,
             static_cast<const float*>(args.inputs[0]), labels, rows, classes, attributes_.label_smoothing, factors,
             static_cast<decltype(zero)*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  Shape shape_;
  int parts_;
  SoftmaxCrossEntropyGradAttributes attributes_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy(const KernelContext& context, Device& device) {
  return std::make_unique<SoftmaxCrossEntropyKernel>(context, device);
}
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const KernelContext& context, Device& device) {
  return std::make_unique<SoftmaxCrossEntropyGradKernel>(context, device);
}

}  // namespace ptrain::cuda
