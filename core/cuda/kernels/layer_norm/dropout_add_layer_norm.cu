#include "core/ops/normalization/dropout_add_layer_norm.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/layer_norm/layer_norm_rows.cuh"
#include "core/cuda/primitives/dropout.cuh"
#include "core/cuda/primitives/launch.cuh"

namespace ptrain::cuda {
namespace {

using BlockWords = MaskWords[block_threads / group_threads];

/// The factors of the n elements from `first` on. In rows of whole groups, half warps draw together: their packs are 16
/// in a row, at multiples of 128 elements.
template <int n>
__device__ inline void row_factors(const DropoutMask& mask, std::int64_t first, std::int64_t width, BlockWords& words,
                                   float (&factors)[n]) {
  if constexpr (n == pack) {
    if (width % static_cast<std::int64_t>(DropoutMask::group) == 0) {
      group_factors(mask, static_cast<std::uint64_t>(first), words[threadIdx.x / group_threads], factors);
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < n; ++i) factors[i] = mask.factor(static_cast<std::uint64_t>(first + i));
}

/// Launch arguments of both directions.
struct RowsArgs {
  std::int64_t rows;
  std::int64_t width;
  float dropout;
  std::uint32_t stream;
  const std::int64_t* rng;
};

/// `low` + `at`, or null.
template <typename L>
__device__ inline L* low_row(L* low, std::int64_t at) {
  return low == nullptr ? nullptr : low + at;
}

template <int n, typename X, typename R, typename L>
__global__ void __launch_bounds__(block_threads, 2)  // without the 2 it takes 93 registers, and spills some at 80
    forward_kernel(RowsArgs a, const X* x, const R* residual, const float* gamma, const float* beta, float epsilon,
                   R* y, R* sum, float* mean, float* rstd, L* low) {
  __shared__ BlockWords words;
  const std::int64_t r = warp_row();
  if (r >= a.rows) return;
  const DropoutMask mask = dropout_mask(a.dropout, a.rng, a.stream, a.rows * a.width);
  const std::int64_t begin = r * a.width;
  for_columns<n>(a.width, [&](std::int64_t c) {
    float values[n], other[n], factors[n];
    load(x + begin + c, values);
    load(residual + begin + c, other);
    if (mask.threshold > 0) {
      row_factors(mask, begin + c, a.width, words, factors);
#pragma unroll
      for (int i = 0; i < n; ++i) values[i] *= factors[i];
    }
#pragma unroll
    for (int i = 0; i < n; ++i) values[i] += other[i];
    store(sum + begin + c, values);
  });
  // Uses the rounded sum, as the gradient does; each thread reads back what it wrote.
  const RowStatistics s = row_statistics<n>(sum + begin, a.width, epsilon);
  normalise_row<n>(sum + begin, s, gamma, beta, a.width, y + begin, low_row(low, begin));
  if (threadIdx.x % warp == 0) {
    mean[r] = s.mean;
    rstd[r] = s.rstd;
  }
}

template <int n, typename D, typename R, typename X, typename L>
__global__ void __launch_bounds__(block_threads)
    backward_kernel(RowsArgs a, const D* dy, const R* sum, const float* gamma, const float* mean, const float* rstd,
                    const L* low, X* dx, R* dresidual) {
  __shared__ BlockWords words;
  const std::int64_t r = warp_row();
  if (r >= a.rows) return;
  const DropoutMask mask = dropout_mask(a.dropout, a.rng, a.stream, a.rows * a.width);
  const std::int64_t begin = r * a.width;
  const RowStatistics s{mean[r], rstd[r]};
  const RowSums sums = grad_row_sums<n>(dy + begin, sum + begin, s, gamma, a.width, low_row(low, begin));
  for_columns<n>(a.width, [&](std::int64_t c) {
    float gradients[n], factors[n];
    load_gradients(dy, low, begin + c, gradients);
    grad_elements(sum + begin + c, gamma + c, s, sums, gradients);
    store(dresidual + begin + c, gradients);
    if (mask.threshold > 0) {
      row_factors(mask, begin + c, a.width, words, factors);
#pragma unroll
      for (int i = 0; i < n; ++i) gradients[i] *= factors[i];
    }
    store(dx + begin + c, gradients);
  });
}

constexpr int sums_warps = 4;       // of a block of backward_sums_kernel
constexpr int groups_of_a_row = 4;  // of `pack` columns for each thread
constexpr std::int64_t widest_row = warp * pack * groups_of_a_row;
constexpr int sums_blocks = 2;  // on a multiprocessor at once: with three, registers spill

/// Both outputs and the sums for gamma and beta in one pass: a warp keeps its row in registers, and the sums of its
/// columns from row to row. partials[block][0 or 1][column], as channel_partials_kernel writes them.
template <typename D, typename R, typename X, typename L>
__global__ void __launch_bounds__(warp* sums_warps, sums_blocks)
    backward_sums_kernel(RowsArgs a, const D* dy, const R* sum, const float* gamma, const float* mean,
                         const float* rstd, const L* low, X* dx, R* dresidual, float* partials) {
  __shared__ BlockWords words;
  const DropoutMask mask = dropout_mask(a.dropout, a.rng, a.stream, a.rows * a.width);
  const auto first = static_cast<std::int64_t>(threadIdx.x % warp) * pack;
  float dgamma[groups_of_a_row][pack] = {}, dbeta[groups_of_a_row][pack] = {};
  for (std::int64_t r = warp_row(); r < a.rows; r += grid_threads() / warp) {
    const std::int64_t begin = r * a.width;
    const RowStatistics s{mean[r], rstd[r]};
    float gradients[groups_of_a_row][pack], normal[groups_of_a_row][pack];
#pragma unroll
    for (int g = 0; g < groups_of_a_row; ++g) {
      const std::int64_t c = first + g * warp * pack;
      if (c >= a.width) continue;
      load_gradients(dy, low, begin + c, gradients[g]);
      load(sum + begin + c, normal[g]);
    }
    float gradient = 0, projected = 0;
#pragma unroll
    for (int g = 0; g < groups_of_a_row; ++g) {
      const std::int64_t c = first + g * warp * pack;
      if (c >= a.width) continue;
      float scale[pack];
      load(gamma + c, scale);
#pragma unroll
      for (int i = 0; i < pack; ++i) {
        normal[g][i] = (normal[g][i] - s.mean) * s.rstd;
        dgamma[g][i] += gradients[g][i] * normal[g][i];
        dbeta[g][i] += gradients[g][i];
        gradients[g][i] *= scale[i];
        gradient += gradients[g][i];
        projected += gradients[g][i] * normal[g][i];
      }
    }
    gradient = warp_sum(gradient) / static_cast<float>(a.width);
    projected = warp_sum(projected) / static_cast<float>(a.width);
#pragma unroll
    for (int g = 0; g < groups_of_a_row; ++g) {
      const std::int64_t c = first + g * warp * pack;
      if (c >= a.width) continue;
#pragma unroll
      for (int i = 0; i < pack; ++i) {
        gradients[g][i] = s.rstd * (gradients[g][i] - gradient - normal[g][i] * projected);
      }
      store(dresidual + begin + c, gradients[g]);
      if (mask.threshold > 0) {
        float factors[pack];
        row_factors(mask, begin + c, a.width, words, factors);
#pragma unroll
        for (int i = 0; i < pack; ++i) gradients[g][i] *= factors[i];
      }
      store(dx + begin + c, gradients[g]);
    }
  }
  __shared__ float tile[sums_warps][widest_row];
  const unsigned own_warp = threadIdx.x / warp;
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    __syncthreads();
#pragma unroll
    for (int g = 0; g < groups_of_a_row; ++g) {
#pragma unroll
      for (int i = 0; i < pack; ++i) {
        tile[own_warp][first + g * warp * pack + i] = which == 0 ? dgamma[g][i] : dbeta[g][i];
      }
    }
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < a.width; c += warp * sums_warps) {
      float total = 0;
      for (int w = 0; w < sums_warps; ++w) total += tile[w][c];
      partials[(2 * static_cast<std::int64_t>(blockIdx.x) + which) * a.width + c] = total;
    }
  }
}

/// Calls visit(L{}) with the type of R's low-precision counterpart; bf16 where there is none.
template <typename R, typename Visitor>
void visit_low(std::optional<DType> low, Visitor&& visit) {
  if constexpr (std::is_same_v<R, float>) {
    if (low == DType::f16) return visit(f16{});
  }
  visit(bf16{});
}

const std::int64_t* get_rng(const KernelArgs& args, std::size_t slot) {
  return slot < args.inputs.size() ? static_cast<const std::int64_t*>(args.inputs[slot]) : nullptr;
}

class DropoutAddLayerNormKernel final : public Kernel {
  using Op = DropoutAddLayerNorm;

 public:
  DropoutAddLayerNormKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<DropoutAddLayerNorm>().attrs()),
        x_(context.inputs[Op::x]),
        residual_(context.inputs[Op::residual]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t width = x_.shape[-1], rows = x_.count() / width;
    const RowsArgs a{rows, width, attributes_.dropout, attributes_.stream, get_rng(args, 4)};
    visit_row_pack(width, [&](auto n) {
      visit_floating2(x_.dtype, residual_.dtype, [&](auto x_zero, auto zero) {
        using R = decltype(zero);
        visit_low<R>(attributes_.low, [&](auto low_zero) {
          using L = decltype(low_zero);
          launch(forward_kernel<decltype(n)::value, decltype(x_zero), R, L>, blocks_for(rows, block_rows),
                 block_threads, device_, a, static_cast<const decltype(x_zero)*>(args.inputs[Op::x]),
                 static_cast<const R*>(args.inputs[Op::residual]), static_cast<const float*>(args.inputs[Op::gamma]),
                 static_cast<const float*>(args.inputs[Op::beta]), attributes_.epsilon,
                 static_cast<R*>(args.outputs[Op::y]), static_cast<R*>(args.outputs[Op::sum]),
                 static_cast<float*>(args.outputs[Op::mean]), static_cast<float*>(args.outputs[Op::rstd]),
                 attributes_.low ? static_cast<L*>(args.outputs[DropoutAddLayerNorm::y_low]) : nullptr);
        });
      });
    });
  }

 private:
  Device& device_;
  DropoutAddLayerNormAttributes attributes_;
  TensorDesc x_;
  TensorDesc residual_;
};

class DropoutAddLayerNormGradKernel final : public Kernel {
  using Op = DropoutAddLayerNormGrad;

 public:
  DropoutAddLayerNormGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<DropoutAddLayerNormGrad>().attrs()),
        dy_dtype_(context.inputs[Op::dy].dtype),
        sum_(context.inputs[Op::sum]),
        channels_(sum_.count() / sum_.shape[-1], sum_.shape[-1]) {
    const std::int64_t width = sum_.shape[-1], rows = sum_.count() / width;
    if (width % pack == 0 && width <= widest_row) {
      const std::int64_t resident = std::int64_t{device.multiprocessors()} * sums_blocks;
      one_pass_blocks_ = std::min(resident, (rows + sums_warps - 1) / sums_warps);
    }
    if (has_input(context.inputs, DropoutAddLayerNormGrad::dy_low)) {
      low_ = context.inputs[DropoutAddLayerNormGrad::dy_low].dtype;
    }
  }

  std::size_t workspace_bytes() const override {
    if (one_pass_blocks_ == 0) return channels_.workspace_bytes();
    return static_cast<std::size_t>(2 * one_pass_blocks_ * sum_.shape[-1]) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    visit_floating2(dy_dtype_, sum_.dtype, [&](auto dy_zero, auto sum_zero) {
      using D = decltype(dy_zero);
      const auto* dy = static_cast<const D*>(args.inputs[Op::dy]);
      const auto* sum = static_cast<const decltype(sum_zero)*>(args.inputs[Op::sum]);
      visit_low<D>(low_, [&](auto low_zero) {
        const auto* low =
            static_cast<const decltype(low_zero)*>(low_ ? args.inputs[DropoutAddLayerNormGrad::dy_low] : nullptr);
        run_as(dy, sum, low, args);
      });
    });
  }

 private:
  template <typename D, typename R, typename L>
  void run_as(const D* dy, const R* sum, const L* low, const KernelArgs& args) {
    const std::int64_t width = sum_.shape[-1], rows = sum_.count() / width;
    const RowsArgs a{rows, width, attributes_.dropout, attributes_.stream, get_rng(args, 5)};
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    const auto* mean = static_cast<const float*>(args.inputs[Op::mean]);
    const auto* rstd = static_cast<const float*>(args.inputs[Op::rstd]);
    auto *dgamma = static_cast<float*>(args.outputs[2]), *dbeta = static_cast<float*>(args.outputs[3]);
    if (one_pass_blocks_ > 0) {
      auto* partials = static_cast<float*>(args.workspace);
      visit_floating(attributes_.x_dtype, [&](auto x_zero) {
        using X = decltype(x_zero);
        launch(backward_sums_kernel<D, R, X, L>, static_cast<unsigned>(one_pass_blocks_), warp * sums_warps, device_, a,
               dy, sum, gamma, mean, rstd, low, static_cast<X*>(args.outputs[0]), static_cast<R*>(args.outputs[1]),
               partials);
      });
      add_parts(device_, partials, one_pass_blocks_, width, dgamma, dbeta);
      return;
    }
    channels_.run(device_, dy, sum, mean, rstd, args.workspace, dgamma, dbeta, low);
    visit_row_pack(width, [&](auto n) {
      visit_floating(attributes_.x_dtype, [&](auto x_zero) {
        launch(backward_kernel<decltype(n)::value, D, R, decltype(x_zero), L>, blocks_for(rows, block_rows),
               block_threads, device_, a, dy, sum, gamma, mean, rstd, low,
               static_cast<decltype(x_zero)*>(args.outputs[0]), static_cast<R*>(args.outputs[1]));
      });
    });
  }

  Device& device_;
  DropoutAddLayerNormGradAttributes attributes_;
  DType dy_dtype_;
  TensorDesc sum_;
  ChannelGradients channels_;
  std::int64_t one_pass_blocks_ = 0;  // none: rows are too wide to be kept in registers
  std::optional<DType> low_;          // of dy_low
};

}  // namespace

std::unique_ptr<Kernel> make_dropout_add_layer_norm(const KernelContext& context, Device& device) {
  return std::make_unique<DropoutAddLayerNormKernel>(context, device);
}
std::unique_ptr<Kernel> make_dropout_add_layer_norm_grad(const KernelContext& context, Device& device) {
  return std::make_unique<DropoutAddLayerNormGradKernel>(context, device);
}

}  // namespace ptrain::cuda
