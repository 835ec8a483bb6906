// One number per row: too little work for more than one thread.
#include "core/ops/binary_cross_entropy.h"

#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/binary_cross_entropy_math.h"
#include "core/ops/softmax_cross_entropy.h"

namespace ptrain::cpu {
namespace {

/// Number of rows that count; 1 if none does.
double count_labelled_rows(const std::int32_t* labels, std::int64_t rows) {
  const auto ignored = std::count(labels, labels + rows, ignored_label);
  return static_cast<double>(std::max<std::ptrdiff_t>(1, rows - ignored));
}

class BinaryCrossEntropyKernel final : public Kernel {
 public:
  explicit BinaryCrossEntropyKernel(const KernelContext& context)
      : logits_(context.inputs[BinaryCrossEntropy::logits]),
        smoothing_(context.op_as<BinaryCrossEntropy>().label_smoothing()) {}

  void run(const KernelArgs& args) override {
    const auto* labels = static_cast<const std::int32_t*>(args.inputs[BinaryCrossEntropy::labels]);
    const std::int64_t rows = logits_.shape[0];
    double sum = 0;
    visit_floating(logits_.dtype, [&](auto zero) {
      const auto* logits = static_cast<const decltype(zero)*>(args.inputs[BinaryCrossEntropy::logits]);
      for (std::int64_t r = 0; r < rows; ++r) {
        if (labels[r] == ignored_label) continue;
        const float loss = binary_cross_entropy(static_cast<float>(logits[r]), binary_target(labels[r], smoothing_));
        sum += static_cast<double>(loss);
      }
    });
    *static_cast<float*>(args.outputs[0]) = static_cast<float>(sum / count_labelled_rows(labels, rows));
  }

 private:
  TensorDesc logits_;
  float smoothing_;
};

class BinaryCrossEntropyGradKernel final : public Kernel {
 public:
  explicit BinaryCrossEntropyGradKernel(const KernelContext& context)
      : logits_(context.inputs[BinaryCrossEntropyGrad::logits]),
        smoothing_(context.op_as<BinaryCrossEntropyGrad>().label_smoothing()) {}

  void run(const KernelArgs& args) override {
    const auto* labels = static_cast<const std::int32_t*>(args.inputs[BinaryCrossEntropyGrad::labels]);
    const std::int64_t rows = logits_.shape[0];
    const float dloss = *static_cast<const float*>(args.inputs[BinaryCrossEntropyGrad::dloss]);
    const float scale = dloss / static_cast<float>(count_labelled_rows(labels, rows));
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* logits = static_cast<const T*>(args.inputs[BinaryCrossEntropyGrad::logits]);
      auto* gradients = static_cast<T*>(args.outputs[0]);
      for (std::int64_t r = 0; r < rows; ++r) {
        const float error = logistic(static_cast<float>(logits[r])) - binary_target(labels[r], smoothing_);
        gradients[r] = T(labels[r] == ignored_label ? 0.0f : scale * error);
      }
    });
  }

 private:
  TensorDesc logits_;
  float smoothing_;
};

}  // namespace

std::unique_ptr<Kernel> make_binary_cross_entropy(const KernelContext& context) {
  return std::make_unique<BinaryCrossEntropyKernel>(context);
}
std::unique_ptr<Kernel> make_binary_cross_entropy_grad(const KernelContext& context) {
  return std::make_unique<BinaryCrossEntropyGradKernel>(context);
}

}  // namespace ptrain::cpu
