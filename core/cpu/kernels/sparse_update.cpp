// Rows are shared out among the threads: each stands in the gradient once, so that no two threads write the same.
#include "core/ops/sparse/sparse_update.h"

#include "core/base/parallel.h"
#include "core/cpu/kernels.h"
#include "core/ops/training/optimizer_buffers.h"

namespace ptrain::cpu {
namespace {

class SparseUpdateKernel final : public Kernel {
 public:
  explicit SparseUpdateKernel(const KernelContext& context)
      : attributes_(context.op_as<SparseUpdate>().attrs()),
        count_(context.inputs[SparseUpdate::values].shape[0]),
        width_(context.inputs[SparseUpdate::values].shape[1]) {}

  void run(const KernelArgs& args) override {
    using Input = SparseUpdate::Input;
    const auto in = [&](std::size_t input) { return static_cast<float*>(args.inputs[input]); };
    StepFactors factors;
    if (!begin_step(attributes_.settings, in(Input::learning_rate), in(Input::grad_norm), in(Input::loss_scale),
                    in(Input::updates), UpdateCount::later, factors))
      return;
    const auto* rows = static_cast<const std::int32_t*>(args.inputs[Input::rows]);
    const float* values = in(Input::values);
    float *table = in(Input::table), *m = in(Input::moment1), *v = in(Input::moment2);
    const OptimizerSettings settings = attributes_.settings;
    const float decay = attributes_.decay ? settings.weight_decay : 0.0f;
    parallel_for(count_, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (rows[i] < 0) continue;
        const std::int64_t at = rows[i] * width_;
        for (std::int64_t c = 0; c < width_; ++c) {
          update_element(settings, factors, decay, values[i * width_ + c], table + at + c,
                         m == nullptr ? nullptr : m + at + c, v == nullptr ? nullptr : v + at + c);
        }
      }
    });
  }

 private:
  SparseUpdateAttributes attributes_;
  std::int64_t count_;
  std::int64_t width_;
};

}  // namespace

std::unique_ptr<Kernel> make_sparse_update(const KernelContext& context) {
  return std::make_unique<SparseUpdateKernel>(context);
}

}  // namespace ptrain::cpu
