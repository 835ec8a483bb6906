#include "core/ops/softmax_cross_entropy.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/exp.h"
#include "core/ops/math/mixed_label.h"

#include <cmath>

namespace ptrain::cpu {
namespace {

/// The divisor of the mean: the number of rows that count, or the sum of their weights; 1 if none counts.
double count_rows(const MixedLabels& labels, std::int64_t rows) {
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) sum += static_cast<double>(labels.row_weight(r, ignored_label));
  return sum > 0 ? sum : 1;
}

/// For a row's logits: the largest, and with class weights or label smoothing their mean and the mean weight.
struct RowFigures {
  float largest = -std::numeric_limits<float>::infinity();
  float mean = 0, mean_weight = 0;
};

template <typename T>
RowFigures row_figures(const T* logits, std::int64_t classes, const MixedLabels& labels) {
  RowFigures row;
  if (labels.class_weights == nullptr) {
    float largest = row.largest, total = 0;
#pragma omp simd reduction(max : largest) reduction(+ : total)
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto value = static_cast<float>(logits[c]);
      largest = value > largest ? value : largest;
      total += value;
    }
    return {largest, total / static_cast<float>(classes), 1};
  }
  for (std::int64_t c = 0; c < classes; ++c) {
    const auto value = static_cast<float>(logits[c]);
    const float weight = labels.class_weight(c);
    row.largest = std::max(row.largest, value);
    row.mean += weight * value / static_cast<float>(classes);
    row.mean_weight += weight / static_cast<float>(classes);
  }
  return row;
}

/// Writes softmax(logits) of row `r`, in place if desired, and returns its cross entropy.
template <typename T>
float softmax_row(const T* logits, std::int64_t classes, const MixedLabels& labels, std::int64_t r, float smoothing,
                  float* probabilities) {
  const RowFigures row = row_figures(logits, classes, labels);
  const float largest = row.largest;
  const bool counts = labels.own[r] != ignored_label;
  const float of_labels =
      counts ? labels.mean(r, [logits](std::int32_t label) { return static_cast<float>(logits[label]); }) : 0.0f;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < classes; ++c) {
    // A NaN must reach the loss: this sum carries it, which the maximum does not.
    probabilities[c] = fast_exp(static_cast<float>(logits[c]) - largest);
    sum += probabilities[c];
  }
  const float scale = 1 / sum;
  for (std::int64_t c = 0; c < classes; ++c) probabilities[c] *= scale;
  if (!counts) return 0;
  const float log_sum = largest + std::log(sum);
  const float of_row = labels.class_weight(labels.own[r]);
  return labels.target_weight(r, smoothing, row.mean_weight) * log_sum - (1 - smoothing) * of_row * of_labels -
         smoothing * row.mean;
}

class SoftmaxCrossEntropyKernel final : public Kernel {
 public:
  explicit SoftmaxCrossEntropyKernel(const KernelContext& context)
      : logits_(context.inputs[0]),
        classes_(logits_.shape[-1]),
        rows_(logits_.count() / classes_),
        smoothing_(context.op_as<SoftmaxCrossEntropy>().label_smoothing()) {}

  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(rows_) * sizeof(float); }

  void run(const KernelArgs& args) override {
    const MixedLabels labels = get_labels(args.inputs, SoftmaxCrossEntropy::labels, SoftmaxCrossEntropy::mixup_labels);
    auto* losses = static_cast<float*>(args.workspace);
    auto* probabilities = static_cast<float*>(args.outputs[1]);
    const std::int64_t rows = rows_, classes = classes_;
    visit_floating(logits_.dtype, [&](auto zero) {
      const auto* logits = static_cast<const decltype(zero)*>(args.inputs[0]);
      parallel_for(rows, 1 + 4096 / classes, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          losses[r] = softmax_row(logits + r * classes, classes, labels, r, smoothing_, probabilities + r * classes);
        }
      });
    });
    double total = 0;
    for (std::int64_t r = 0; r < rows; ++r) total += static_cast<double>(losses[r]);
    *static_cast<float*>(args.outputs[0]) = static_cast<float>(total / count_rows(labels, rows));
  }

 private:
  TensorDesc logits_;
  std::int64_t classes_, rows_;
  float smoothing_;
};

/// The gradient of a row with a plain class label and equal class weights; may overwrite the probabilities.
template <typename T>
void plain_gradient_row(const float* probabilities, std::int64_t classes, std::int32_t label, float smoothing,
                        float scale, T* gradient) {
  const float everywhere = smoothing / static_cast<float>(classes);
  const float of_label = (probabilities[label] - everywhere - (1 - smoothing)) * scale;
#pragma omp simd
  for (std::int64_t c = 0; c < classes; ++c) gradient[c] = T((probabilities[c] - everywhere) * scale);
  gradient[label] = T(of_label);
}

class SoftmaxCrossEntropyGradKernel final : public Kernel {
 public:
  explicit SoftmaxCrossEntropyGradKernel(const KernelContext& context)
      : shape_(context.inputs[0].shape), attributes_(context.op_as<SoftmaxCrossEntropyGrad>().attrs()) {}

  void run(const KernelArgs& args) override {
    const auto* probabilities = static_cast<const float*>(args.inputs[0]);
    const MixedLabels labels =
        get_labels(args.inputs, SoftmaxCrossEntropyGrad::labels, SoftmaxCrossEntropyGrad::mixup_labels);
    const std::int64_t classes = shape_[-1];
    const std::int64_t rows = shape_.count() / classes;
    const auto counted = static_cast<float>(count_rows(labels, rows));
    const float scale = *static_cast<const float*>(args.inputs[SoftmaxCrossEntropyGrad::dloss]) / counted;
    float mean_weight = 0;
    for (std::int64_t c = 0; c < classes; ++c) mean_weight += labels.class_weight(c) / static_cast<float>(classes);
    const float everywhere = attributes_.label_smoothing / static_cast<float>(classes);
    visit_floating(attributes_.dtype, [&](auto zero) {
      using T = decltype(zero);
      auto* dlogits = static_cast<T*>(args.outputs[0]);
      parallel_for(rows, 1 + 16384 / classes, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const float* p = probabilities + r * classes;
          T* d = dlogits + r * classes;
          if (labels.own[r] == ignored_label || scale == 0) {
            std::fill(d, d + classes, T(0.0f));
            continue;
          }
          if (labels.other == nullptr && labels.class_weights == nullptr) {
            plain_gradient_row(p, classes, labels.own[r], attributes_.label_smoothing, scale, d);
            continue;
          }
          const float of_row = labels.target_weight(r, attributes_.label_smoothing, mean_weight);
          for (std::int64_t c = 0; c < classes; ++c) {
            const float target = everywhere + (1 - attributes_.label_smoothing) * labels.weight(r, c);
            d[c] = T((p[c] * of_row - target * labels.class_weight(c)) * scale);
          }
        }
      });
    });
  }

 private:
  Shape shape_;
  SoftmaxCrossEntropyGradAttributes attributes_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy(const KernelContext& context) {
  return std::make_unique<SoftmaxCrossEntropyKernel>(context);
}
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const KernelContext& context) {
  return std::make_unique<SoftmaxCrossEntropyGradKernel>(context);
}

}  // namespace ptrain::cpu
