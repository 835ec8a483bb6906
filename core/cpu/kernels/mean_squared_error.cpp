// One number per row: too little work for more than one thread.
#include "core/ops/mean_squared_error.h"

#include "core/cpu/cpu_kernels.h"

#include <cmath>

namespace ptrain::cpu {
namespace {

/// Number of rows with a target; 1 if there is none.
double count_rows_with_target(const float* targets, std::int64_t rows) {
  const auto counted = std::count_if(targets, targets + rows, [](float target) { return !std::isnan(target); });
  return static_cast<double>(std::max<std::ptrdiff_t>(1, counted));
}

class MeanSquaredErrorKernel final : public Kernel {
 public:
  explicit MeanSquaredErrorKernel(const KernelContext& context)
      : predictions_(context.inputs[MeanSquaredError::predictions]) {}

  void run(const KernelArgs& args) override {
    const auto* targets = static_cast<const float*>(args.inputs[MeanSquaredError::targets]);
    const std::int64_t rows = predictions_.shape[0];
    double sum = 0;
    visit_floating(predictions_.dtype, [&](auto zero) {
      const auto* predictions = static_cast<const decltype(zero)*>(args.inputs[MeanSquaredError::predictions]);
      for (std::int64_t r = 0; r < rows; ++r) {
        if (std::isnan(targets[r])) continue;
        const double error = static_cast<double>(static_cast<float>(predictions[r])) - static_cast<double>(targets[r]);
        sum += error * error;
      }
    });
    *static_cast<float*>(args.outputs[0]) = static_cast<float>(sum / count_rows_with_target(targets, rows));
  }

 private:
  TensorDesc predictions_;
};

class MeanSquaredErrorGradKernel final : public Kernel {
 public:
  explicit MeanSquaredErrorGradKernel(const KernelContext& context)
      : predictions_(context.inputs[MeanSquaredErrorGrad::predictions]) {}

  void run(const KernelArgs& args) override {
    const auto* targets = static_cast<const float*>(args.inputs[MeanSquaredErrorGrad::targets]);
    const std::int64_t rows = predictions_.shape[0];
    const float dloss = *static_cast<const float*>(args.inputs[MeanSquaredErrorGrad::dloss]);
    const float scale = 2 * dloss / static_cast<float>(count_rows_with_target(targets, rows));
    visit_floating(predictions_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* predictions = static_cast<const T*>(args.inputs[MeanSquaredErrorGrad::predictions]);
      auto* gradients = static_cast<T*>(args.outputs[0]);
      for (std::int64_t r = 0; r < rows; ++r) {
        gradients[r] = T(std::isnan(targets[r]) ? 0.0f : scale * (static_cast<float>(predictions[r]) - targets[r]));
      }
    });
  }

 private:
  TensorDesc predictions_;
};

}  // namespace

std::unique_ptr<Kernel> make_mean_squared_error(const KernelContext& context) {
  return std::make_unique<MeanSquaredErrorKernel>(context);
}
std::unique_ptr<Kernel> make_mean_squared_error_grad(const KernelContext& context) {
  return std::make_unique<MeanSquaredErrorGradKernel>(context);
}

}  // namespace ptrain::cpu
