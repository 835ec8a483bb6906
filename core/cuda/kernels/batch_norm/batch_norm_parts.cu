// The parts of a batch norm, over rows of channels.
#include "core/ops/normalization/batch_norm_parts.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/channel_sums.cuh"
#include "core/cuda/primitives/gate_mask.cuh"
#include "core/cuda/primitives/launch.cuh"
#include "core/ops/math/activation_math.h"
#include "core/ops/math/batch_norm_math.h"

namespace ptrain::cuda {
namespace {

const float* floats(const KernelArgs& args, int input) {
  return static_cast<const float*>(args.inputs[static_cast<std::size_t>(input)]);
}

struct FinalizeArguments {
  const float *sum, *sum_of_squares, *gamma, *beta;
  float *running_mean, *running_var;
  float *saved_mean, *saved_invstd, *scale, *offset;
  double count, epsilon, momentum;
};

__global__ void __launch_bounds__(block_threads) finalize_kernel(FinalizeArguments a, std::int64_t channels) {
  const std::int64_t c = grid_thread();
  if (c >= channels) return;
  const BatchStatistics batch =
      batch_statistics(static_cast<double>(a.sum[c]), static_cast<double>(a.sum_of_squares[c]), a.count);
  const auto mean = static_cast<float>(batch.mean);
  const auto invstd = static_cast<float>(1.0 / sqrt(batch.variance + a.epsilon));
  a.saved_mean[c] = mean;
  a.saved_invstd[c] = invstd;
  a.scale[c] = a.gamma[c] * invstd;
  a.offset[c] = a.beta[c] - mean * (a.gamma[c] * invstd);
  a.running_mean[c] = running_average(a.running_mean[c], batch.mean, a.momentum);
  a.running_var[c] = running_average(a.running_var[c], batch.variance * a.count / (a.count - 1), a.momentum);
}

class FinalizeKernel final : public Kernel {
 public:
  using Op = BatchNormFinalize;

  FinalizeKernel(const KernelContext& context, Device& device)
      : device_(device), attrs_(context.op_as<Op>().attrs()), channels_(context.inputs[Op::sum].count()) {}

  KernelRecord record() const override { return {"native", BatchNormPart::in_convolution}; }

  void run(const KernelArgs& args) override {
    const auto output = [&](Op::Output index) { return static_cast<float*>(args.outputs[index]); };
    const FinalizeArguments arguments{floats(args, Op::sum),
                                      floats(args, Op::sum_of_squares),
                                      floats(args, Op::gamma),
                                      floats(args, Op::beta),
                                      static_cast<float*>(args.inputs[Op::running_mean]),
                                      static_cast<float*>(args.inputs[Op::running_var]),
                                      output(Op::saved_mean),
                                      output(Op::saved_invstd),
                                      output(Op::scale),
                                      output(Op::offset),
                                      static_cast<double>(attrs_.count),
                                      static_cast<double>(attrs_.epsilon),
                                      static_cast<double>(attrs_.momentum)};
    launch(finalize_kernel, grid_blocks(device_, channels_), block_threads, device_, arguments, channels_);
  }

 private:
  Device& device_;
  Op::Attributes attrs_;
  std::int64_t channels_;
};

struct Affine {
  const float *scale, *offset;
};

/// y may be x or the residual: each element is read before it is written, by the same thread.
template <int n, typename T, Activation activation>
__global__ void __launch_bounds__(block_threads)
    apply_kernel(ChannelExtent e, const T* x, Affine norm, const T* residual, Affine residual_norm, T* y,
                 std::uint8_t* mask) {
  const Place place(e, n);
  if (place.channel >= e.channels) return;
  float scale[n], offset[n], residual_scale[n], residual_offset[n] = {};
  load(norm.scale + place.channel, scale);
  load(norm.offset + place.channel, offset);
#pragma unroll
  for (int i = 0; i < n; ++i) residual_scale[i] = 1;
  if (residual_norm.scale != nullptr) {
    load(residual_norm.scale + place.channel, residual_scale);
    load(residual_norm.offset + place.channel, residual_offset);
  }
  for (std::int64_t r = place.row; r < e.rows; r += place.step) {
    const std::int64_t at = r * e.channels + place.channel;
    float values[n], added[n] = {};
    load(x + at, values);
    if (residual != nullptr) load(residual + at, added);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      values[i] = values[i] * scale[i] + offset[i];
      if (residual != nullptr) values[i] += added[i] * residual_scale[i] + residual_offset[i];
      values[i] = activate<activation>(values[i]);
    }
    store(y + at, values);
    store_mask<activation>(mask, at, values);
  }
}

class ApplyKernel final : public Kernel {
 public:
  using Op = BatchNormApply;

  ApplyKernel(const KernelContext& context, Device& device)
      : device_(device),
        attrs_(context.op_as<Op>().attrs()),
        dtype_(context.inputs[Op::x].dtype),
        rows_(channel_extent(device, context.inputs[Op::x])) {}

  void run(const KernelArgs& args) override {
    const Affine norm{floats(args, Op::scale), floats(args, Op::offset)};
    const Affine residual_norm{floats(args, Op::residual_scale), floats(args, Op::residual_offset)};
    auto* mask = attrs_.mask ? static_cast<std::uint8_t*>(args.outputs[Op::mask]) : nullptr;
    visit_row_pack(rows_.channels, dtype_, [&](auto n, auto zero) {
      using T = decltype(zero);
      constexpr int packed = decltype(n)::value;
      visit_norm_activation(attrs_.activation, [&](auto kind) {
        launch(apply_kernel<packed, T, decltype(kind)::value>, rows_.grid(packed), block_threads, device_, rows_,
               static_cast<const T*>(args.inputs[Op::x]), norm, static_cast<const T*>(args.inputs[Op::residual]),
               residual_norm, static_cast<T*>(args.outputs[Op::y]), mask);
      });
    });
  }

 private:
  Device& device_;
  Op::Attributes attrs_;
  DType dtype_;
  ChannelExtent rows_;
};

struct GradArguments {
  const float *gamma, *mean, *invstd, *dgamma, *dbeta;
};

/// dx may be dz.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    grad_apply_kernel(ChannelExtent e, const T* dz, const T* x, GradArguments a, T* dx) {
  const Place place(e, n);
  if (place.channel >= e.channels) return;
  float mean[n];
  BatchNormGradTerms terms[n];
  load(a.mean + place.channel, mean);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    const std::int64_t c = place.channel + i;
    terms[i] = batch_norm_grad_terms(a.gamma[c], a.invstd[c], a.dgamma[c], a.dbeta[c], static_cast<double>(e.rows));
  }
  for (std::int64_t r = place.row; r < e.rows; r += place.step) {
    const std::int64_t at = r * e.channels + place.channel;
    float g[n], d[n];
    load(dz + at, g);
    load(x + at, d);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      g[i] = g[i] * terms[i].scale + ((d[i] - mean[i]) * terms[i].slope + terms[i].offset);
    }
    store(dx + at, g);
  }
}

class GradApplyKernel final : public Kernel {
 public:
  using Op = BatchNormGradApply;

  GradApplyKernel(const KernelContext& context, Device& device)
      : device_(device), dtype_(context.inputs[Op::x].dtype), rows_(channel_extent(device, context.inputs[Op::x])) {}

  void run(const KernelArgs& args) override {
    const GradArguments arguments{floats(args, Op::gamma), floats(args, Op::saved_mean), floats(args, Op::saved_invstd),
                                  floats(args, Op::dgamma), floats(args, Op::dbeta)};
    visit_row_pack(rows_.channels, dtype_, [&](auto n, auto zero) {
      using T = decltype(zero);
      constexpr int packed = decltype(n)::value;
      launch(grad_apply_kernel<packed, T>, rows_.grid(packed), block_threads, device_, rows_,
             static_cast<const T*>(args.inputs[Op::dz]), static_cast<const T*>(args.inputs[Op::x]), arguments,
             static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  DType dtype_;
  ChannelExtent rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_finalize(const KernelContext& context, Device& device) {
  return std::make_unique<FinalizeKernel>(context, device);
}

std::unique_ptr<Kernel> make_batch_norm_apply(const KernelContext& context, Device& device) {
  return std::make_unique<ApplyKernel>(context, device);
}

std::unique_ptr<Kernel> make_batch_norm_grad_apply(const KernelContext& context, Device& device) {
  return std::make_unique<GradApplyKernel>(context, device);
}

}  // namespace ptrain::cuda
