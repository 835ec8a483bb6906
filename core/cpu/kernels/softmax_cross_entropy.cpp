#include "core/ops/softmax_cross_entropy.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/softmax_cross_entropy_rows.h"

namespace ptrain::cpu {
namespace {

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
    const float dloss = *static_cast<const float*>(args.inputs[SoftmaxCrossEntropyGrad::dloss]);
    const GradientFactors factors = compute_gradient_factors(labels, rows, classes, attributes_.label_smoothing, dloss);
    visit_floating(attributes_.dtype, [&](auto zero) {
      using T = decltype(zero);
      auto* dlogits = static_cast<T*>(args.outputs[0]);
      parallel_for(rows, 1 + 16384 / classes, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          softmax_gradient_row(probabilities + r * classes, classes, labels, r, factors, dlogits + r * classes);
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
