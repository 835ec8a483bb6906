// A thread per element of the gradient: each row of the table stands in it once.
#include "core/ops/sparse/sparse_update.h"

#include "core/cuda/kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/step_state.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

struct Rows {
  std::int64_t count;
  std::int64_t width;
  const std::int32_t* rows;
  const float* values;
  float* table;
  float* moment1;  // null where the optimizer keeps none
  float* moment2;
};

__global__ void __launch_bounds__(block_threads)
    update_rows_kernel(Rows r, OptimizerSettings settings, float decay, const StepState* state) {
  if (state->skip != 0) return;
  const StepFactors factors = state->factors;
  for (std::int64_t i = grid_thread(); i < r.count * r.width; i += grid_threads()) {
    const std::int32_t row = r.rows[i / r.width];
    if (row < 0) continue;
    const std::int64_t at = row * r.width + i % r.width;
    update_element(settings, factors, decay, r.values[i], r.table + at, r.moment1 == nullptr ? nullptr : r.moment1 + at,
                   r.moment2 == nullptr ? nullptr : r.moment2 + at);
  }
}

class SparseUpdateKernel final : public Kernel {
 public:
  SparseUpdateKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<SparseUpdate>().attrs()),
        values_(context.inputs[SparseUpdate::values].shape) {}

  std::size_t workspace_bytes() const override { return sizeof(StepState); }

  void run(const KernelArgs& args) override {
    using Input = SparseUpdate::Input;
    const auto in = [&](std::size_t input) { return static_cast<float*>(args.inputs[input]); };
    auto* state = static_cast<StepState*>(args.workspace);
    launch(begin_step_kernel, 1, 1, device_, attributes_.settings, in(Input::learning_rate), in(Input::grad_norm),
           in(Input::loss_scale), in(Input::updates), UpdateCount::later, state);
    const Rows rows{values_[0],        values_[1],       static_cast<const std::int32_t*>(args.inputs[Input::rows]),
                    in(Input::values), in(Input::table), in(Input::moment1),
                    in(Input::moment2)};
    const float decay = attributes_.decay ? attributes_.settings.weight_decay : 0.0f;
    launch(update_rows_kernel, grid_blocks(device_, values_.count()), block_threads, device_, rows,
           attributes_.settings, decay, state);
  }

 private:
  Device& device_;
  SparseUpdateAttributes attributes_;
  Shape values_;
};

}  // namespace

std::unique_ptr<Kernel> make_sparse_update(const KernelContext& context, Device& device) {
  return std::make_unique<SparseUpdateKernel>(context, device);
}

}  // namespace ptrain::cuda
