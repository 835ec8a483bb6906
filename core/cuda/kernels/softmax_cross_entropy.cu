// One warp per row; blocks add the losses of parts of the rows in order, and one block those of the parts.
#include "core/cuda/kernels/softmax_cross_entropy.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/softmax_cross_entropy.h"

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

/// The labels from row `first` on.
MixedLabels from_row(MixedLabels labels, std::int64_t first) {
  labels.own += first;
  if (labels.other != nullptr) labels.other += first;
  return labels;
}

/// All rows of logits [..., classes].
RowRange get_rows(const Shape& logits) { return {0, logits.count() / logits[-1]}; }

}  // namespace

SoftmaxLossRows::SoftmaxLossRows(const Device& device, std::int64_t rows, std::int64_t classes, float smoothing)
    : device_(device), rows_(rows), classes_(classes), smoothing_(smoothing), parts_(count_loss_parts(rows)) {
  partial_ = layout_.take(static_cast<std::size_t>(parts_) * sizeof(LossSums));
  losses_ = layout_.take(static_cast<std::size_t>(rows) * sizeof(float));
  factors_ = layout_.take(sizeof(BatchFactors));
}

void SoftmaxLossRows::add(const RowRange& range, DType dtype, const void* logits, const MixedLabels& labels,
                          float* probabilities, void* workspace) const {
  visit_floating(dtype, [&](auto zero) {
    launch(softmax_loss_kernel<decltype(zero)>, blocks_for(range.count * warp), block_threads, device_,
           static_cast<const decltype(zero)*>(logits), from_row(labels, range.first), range.count, classes_, smoothing_,
           probabilities, losses_.as<float>(workspace) + range.first);
  });
}

void SoftmaxLossRows::finish(const MixedLabels& labels, float* loss, void* workspace) const {
  auto* partial = partial_.as<LossSums>(workspace);
  launch(loss_sums_kernel, static_cast<unsigned>(parts_), block_threads, device_, losses_.as<float>(workspace), labels,
         rows_, partial);
  launch(mean_kernel, 1, block_threads, device_, partial, parts_, loss);
}

void SoftmaxLossRows::start_gradient(const MixedLabels& labels, const float* dloss, void* workspace) const {
  auto* partial = partial_.as<LossSums>(workspace);
  launch(loss_sums_kernel, static_cast<unsigned>(parts_), block_threads, device_, nullptr, labels, rows_, partial);
  launch(factors_kernel, 1, block_threads, device_, labels, partial, parts_, classes_, dloss,
         factors_.as<BatchFactors>(workspace));
}

void SoftmaxLossRows::differentiate(const RowRange& range, const float* probabilities, const MixedLabels& labels,
                                    DType dtype, void* dlogits, void* workspace) const {
  visit_floating(dtype, [&](auto zero) {
    launch(softmax_loss_grad_kernel<decltype(zero)>, grid_blocks(device_, range.count * classes_), block_threads,
           device_, probabilities, from_row(labels, range.first), range.count, classes_, smoothing_,
           factors_.as<BatchFactors>(workspace), static_cast<decltype(zero)*>(dlogits));
  });
}

namespace {

class SoftmaxCrossEntropyKernel final : public Kernel {
  using Op = SoftmaxCrossEntropy;

 public:
  SoftmaxCrossEntropyKernel(const KernelContext& context, Device& device)
      : dtype_(context.inputs[Op::logits].dtype),
        all_(get_rows(context.inputs[Op::logits].shape)),
        rows_(device, all_.count, context.inputs[Op::logits].shape[-1], context.op_as<Op>().label_smoothing()) {}

  std::size_t workspace_bytes() const override { return rows_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    const MixedLabels labels = get_labels(args.inputs, Op::labels, Op::mixup_labels);
    rows_.add(all_, dtype_, args.inputs[Op::logits], labels, static_cast<float*>(args.outputs[1]), args.workspace);
    rows_.finish(labels, static_cast<float*>(args.outputs[0]), args.workspace);
  }

 private:
  DType dtype_;
  RowRange all_;
  SoftmaxLossRows rows_;
};

class SoftmaxCrossEntropyGradKernel final : public Kernel {
  using Op = SoftmaxCrossEntropyGrad;

 public:
  SoftmaxCrossEntropyGradKernel(const KernelContext& context, Device& device)
      : dtype_(context.op_as<Op>().attrs().dtype),
        all_(get_rows(context.inputs[Op::probabilities].shape)),
        rows_(device, all_.count, context.inputs[Op::probabilities].shape[-1],
              context.op_as<Op>().attrs().label_smoothing) {}

  std::size_t workspace_bytes() const override { return rows_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    const MixedLabels labels = get_labels(args.inputs, Op::labels, Op::mixup_labels);
    rows_.start_gradient(labels, static_cast<const float*>(args.inputs[Op::dloss]), args.workspace);
    rows_.differentiate(all_, static_cast<const float*>(args.inputs[Op::probabilities]), labels, dtype_,
                        args.outputs[0], args.workspace);
  }

 private:
  DType dtype_;
  RowRange all_;
  SoftmaxLossRows rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy(const KernelContext& context, Device& device) {
  return std::make_unique<SoftmaxCrossEntropyKernel>(context, device);
}
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const KernelContext& context, Device& device) {
  return std::make_unique<SoftmaxCrossEntropyGradKernel>(context, device);
}

}  // namespace ptrain::cuda
