// One thread per element of the gradient, in which each row of the table occurs once. One warp per row if a row has one
// sum.
#include "core/ops/sparse/sparse_update.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
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
  Moments moments;
};

__global__ void __launch_bounds__(block_threads)
    update_rows_kernel(Rows r, OptimizerSettings settings, float decay, const StepState* state) {
  if (state->skip != 0) return;
  const StepFactors factors = state->factors;
  for (std::int64_t i = grid_thread(); i < r.count * r.width; i += grid_threads()) {
    const std::int32_t row = r.rows[i / r.width];
    if (row < 0) continue;
    const std::int64_t at = row * r.width + i % r.width;
    update_element(settings, factors, decay, r.values[i], r.table + at, moments_at(r.moments, at));
  }
}

__global__ void __launch_bounds__(block_threads)
    update_by_row_sums_kernel(Rows r, OptimizerSettings settings, float decay, const StepState* state) {
  if (state->skip != 0) return;
  const StepFactors factors = state->factors;
  const std::int64_t lane = threadIdx.x % 32;
  for (std::int64_t i = grid_thread() / 32; i < r.count; i += grid_threads() / 32) {
    const std::int32_t row = r.rows[i];
    if (row < 0) continue;  // the same for the whole warp
    float* p = r.table + row * r.width;
    const float* gradient = r.values + i * r.width;
    float squares = 0;
    for (std::int64_t c = lane; c < r.width; c += 32) {
      const float g = gradient[c] * factors.gradient_scale + decay * p[c];
      squares += g * g;
    }
    float sum = r.moments.first[row];
    const float rate = row_wise_rate(settings, factors, sum, warp_sum(squares), r.width);  // all have read the sum
    if (lane == 0) r.moments.first[row] = sum;
    for (std::int64_t c = lane; c < r.width; c += 32) {
      p[c] -= rate * (gradient[c] * factors.gradient_scale + decay * p[c]);
    }
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
                    in(Input::values), in(Input::table), {in(Input::moment1), in(Input::moment2), in(Input::moment3)}};
    const float decay = attributes_.decay ? attributes_.settings.weight_decay : 0.0f;
    if (keeps_row_sums(attributes_.settings)) {
      launch(update_by_row_sums_kernel, grid_blocks(device_, values_[0] * 32), block_threads, device_, rows,
             attributes_.settings, decay, state);
    } else {
      launch(update_rows_kernel, grid_blocks(device_, values_.count()), block_threads, device_, rows,
             attributes_.settings, decay, state);
    }
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
