// Muon: cuBLASLt's products on a copy of the direction in the workspace; small kernels between them. A skipped step
// runs the products on stale data, without effect.
#include "core/ops/training/muon_update.h"

#include "core/base/round_up.h"
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/library/gemm.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/step_state.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/muon.h"

namespace ptrain::cuda {
namespace {

/// Writes the direction to x; each block writes the sum of squares of its part.
template <typename Grad, typename Low>
__global__ void __launch_bounds__(block_threads) direction_kernel(ParameterRun<Grad, Low> r, OptimizerSettings s,
                                                                  const StepState* state, float* x, double* partials) {
  if (state->skip != 0) return;
  const float scale = state->factors.gradient_scale;
  double squares = 0;
  for (std::int64_t i = grid_thread(); i < r.count; i += grid_threads()) {
    x[i] = muon_momentum(to_float(r.g[i]) * scale, r.m[i], s.momentum, s.nesterov);
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  const double sum = block_sum(squares);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(block_threads) unit_factor_kernel(const double* partials, int count, float* unit) {
  double squares = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += block_threads) squares += partials[i];
  const double sum = block_sum(squares);
  if (threadIdx.x == 0) *unit = muon_unit_factor(sum);
}

__global__ void __launch_bounds__(block_threads) scale_kernel(float* x, std::int64_t count, const float* factor) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) x[i] *= *factor;
}

/// x = a x + b y.
__global__ void __launch_bounds__(block_threads)
    combine_kernel(float* x, float a, const float* y, float b, std::int64_t count) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) x[i] = a * x[i] + b * y[i];
}

template <typename Grad, typename Low>
__global__ void __launch_bounds__(block_threads)
    apply_direction_kernel(ParameterRun<Grad, Low> r, MuonUpdateAttributes attributes, const StepState* state,
                           const float* x) {
  if (state->skip != 0) return;
  const OptimizerSettings& s = attributes.settings;
  const float lr = state->factors.lr;
  const float rate = muon_rate(s.muon_scale, lr, attributes.rows, attributes.columns);
  const float decay = attributes.segment.decay ? s.weight_decay : 0.0f;
  for (std::int64_t i = grid_thread(); i < r.count; i += grid_threads()) {
    const float p = r.p[i] * (1.0f - lr * decay) - rate * x[i];
    r.p[i] = p;
    if (r.low != nullptr) r.low[i] = from_float<Low>(p);
  }
}

MatrixProduct make_product(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  MatrixProduct product;
  product.rows = rows;
  product.columns = columns;
  product.inner = inner;
  return product;
}

class MuonUpdateKernel final : public Kernel {
 public:
  MuonUpdateKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<MuonUpdate>().attrs()),
        low_(context.inputs[MuonUpdate::Input::low]),
        grad_low_(context.inputs[MuonUpdate::Input::grad_low]),
        wide_(attributes_.rows <= attributes_.columns),
        blocks_(grid_blocks(device, attributes_.segment.count)) {
    const std::int64_t side = gram_side(attributes_), length = attributes_.segment.count / side;
    MatrixProduct gram = make_product(side, side, length);
    (wide_ ? gram.right_transposed : gram.left_transposed) = true;
    gram_ = Gemm::make_plain(context, device, gram);
    square_ = Gemm::make_plain(context, device, make_product(side, side, side));
    step_ = Gemm::make_plain(context, device, make_product(attributes_.rows, attributes_.columns, side));
    products_workspace_ = std::max({gram_->workspace_bytes(), square_->workspace_bytes(), step_->workspace_bytes()});
  }

  /// The step's state, partial sums, the matrices, then the products' workspace.
  std::size_t workspace_bytes() const override { return products_offset() + products_workspace_; }
  KernelRecord record() const override { return {step_->implementation()}; }

  void run(const KernelArgs& args) override {
    using Input = MuonUpdate::Input;
    const auto in = [&](int input) { return args.inputs[static_cast<std::size_t>(input)]; };
    auto* state = static_cast<StepState*>(args.workspace);
    launch(begin_step_kernel, 1, 1, device_, attributes_.settings, static_cast<const float*>(in(Input::learning_rate)),
           static_cast<const float*>(in(Input::grad_norm)), static_cast<const float*>(in(Input::loss_scale)),
           static_cast<float*>(in(Input::updates)), UpdateCount::later, state);
    const OptimizerBuffers buffers = optimizer_buffers(args.inputs);
    if (attributes_.segment.low_offset < 0) {
      update<float, float>(buffers, args.workspace);
      return;
    }
    visit_floating(low_.dtype, [&](auto zero) {
      using Low = decltype(zero);
      if (grad_low_.dtype == DType::f32) {
        update<float, Low>(buffers, args.workspace);
      } else {
        update<Low, Low>(buffers, args.workspace);
      }
    });
  }

 private:
  static constexpr std::size_t alignment = 256;  // required by cuBLASLt
  static constexpr std::size_t unit_offset = 128, partials_offset = 256;
  static_assert(sizeof(StepState) <= unit_offset);

  static std::size_t padded_floats(std::int64_t count) {
    return round_up(static_cast<std::size_t>(count) * sizeof(float), alignment);
  }
  std::int64_t gram_count() const { return gram_side(attributes_) * gram_side(attributes_); }
  std::size_t matrices_offset() const {
    return partials_offset + round_up(static_cast<std::size_t>(blocks_) * sizeof(double), alignment);
  }
  std::size_t products_offset() const {
    return matrices_offset() + 2 * padded_floats(attributes_.segment.count) + 2 * padded_floats(gram_count());
  }

  template <typename Grad, typename Low>
  void update(const OptimizerBuffers& buffers, void* workspace) {
    auto* bytes = static_cast<std::byte*>(workspace);
    const auto* state = static_cast<const StepState*>(workspace);
    auto* unit = reinterpret_cast<float*>(bytes + unit_offset);
    auto* partials = reinterpret_cast<double*>(bytes + partials_offset);
    auto* x = reinterpret_cast<float*>(bytes + matrices_offset());
    const auto r = parameter_run<Grad, Low>(buffers, attributes_.segment, 0, attributes_.segment.count);
    launch(direction_kernel<Grad, Low>, blocks_, block_threads, device_, r, attributes_.settings, state, x, partials);
    launch(unit_factor_kernel, 1, block_threads, device_, partials, blocks_, unit);
    launch(scale_kernel, blocks_, block_threads, device_, x, r.count, unit);
    orthogonalize(bytes);
    launch(apply_direction_kernel<Grad, Low>, blocks_, block_threads, device_, r, attributes_, state, x);
  }

  /// The Newton-Schulz iteration in place.
  void orthogonalize(std::byte* workspace) {
    const std::size_t size = padded_floats(attributes_.segment.count);
    std::byte* matrices = workspace + matrices_offset();
    auto* x = reinterpret_cast<float*>(matrices);
    auto* next = reinterpret_cast<float*>(matrices + size);
    auto* gram = reinterpret_cast<float*>(matrices + 2 * size);
    auto* square = reinterpret_cast<float*>(matrices + 2 * size + padded_floats(gram_count()));
    void* scratch = workspace + products_offset();
    for (int step = 0; step < NewtonSchulz::steps; ++step) {
      gram_->run({x, x, gram}, scratch);
      square_->run({gram, gram, square}, scratch);
      combine(gram, NewtonSchulz::b, square, NewtonSchulz::c, gram_count());
      step_->run({wide_ ? gram : x, wide_ ? x : gram, next}, scratch);
      combine(x, NewtonSchulz::a, next, 1.0f, attributes_.segment.count);
    }
  }

  void combine(float* x, float a, const float* y, float b, std::int64_t count) {
    launch(combine_kernel, grid_blocks(device_, count), block_threads, device_, x, a, y, b, count);
  }

  Device& device_;
  MuonUpdateAttributes attributes_;
  TensorDesc low_;
  TensorDesc grad_low_;
  bool wide_;  // whether the Gram matrix is over the rows
  int blocks_;
  std::unique_ptr<Gemm> gram_, square_, step_;
  std::size_t products_workspace_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_muon_update(const KernelContext& context, Device& device) {
  return std::make_unique<MuonUpdateKernel>(context, device);
}

}  // namespace ptrain::cuda
