// Batch normalisation forward over rows of channels. Training reads x twice: statistics, then the result. Rows are
// split into blocks whose sums are in fp32 and combined in double in a fixed order, so results do not depend on the
// number of threads; deviations are taken from the first row, so a large mean costs no precision.
#include "core/ops/normalization/batch_norm.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/row_blocks.h"
#include "core/cpu/simd/simd_activation.h"
#include "core/ops/math/batch_norm_math.h"

#include <cmath>

namespace ptrain::cpu {
namespace {

class BatchNormKernel final : public Kernel {
 public:
  explicit BatchNormKernel(const KernelContext& context)
      : attrs_(context.op_as<BatchNorm>().attrs()),
        dtype_(context.inputs[BatchNorm::x].dtype),
        rows_(context.inputs[BatchNorm::x]),
        collectives_(attrs_.sync ? context.collectives : nullptr),
        has_residual_(has_input(context.inputs, BatchNorm::residual)) {}

  std::size_t workspace_bytes() const override {
    return (static_cast<std::size_t>(rows_.channels) + rows_.partial_floats()) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    visit_floating(dtype_, [&](auto zero) { run_typed<decltype(zero)>(args); });
  }

 private:
  template <typename T>
  void run_typed(const KernelArgs& args) const {
    auto* scale = static_cast<float*>(args.workspace);
    const auto* gamma = static_cast<const float*>(args.inputs[BatchNorm::gamma]);
    const auto* mean = static_cast<const float*>(args.inputs[BatchNorm::running_mean]);
    if (attrs_.training) {
      const auto* invstd = static_cast<const float*>(args.outputs[2]);
      statistics(static_cast<const T*>(args.inputs[BatchNorm::x]), args, scale + rows_.channels);
      mean = static_cast<const float*>(args.outputs[1]);
      for (std::int64_t c = 0; c < rows_.channels; ++c) scale[c] = gamma[c] * invstd[c];
    } else {
      const auto* variance = static_cast<const float*>(args.inputs[BatchNorm::running_var]);
      for (std::int64_t c = 0; c < rows_.channels; ++c) scale[c] = gamma[c] / std::sqrt(variance[c] + attrs_.epsilon);
    }
    visit_norm_activation(attrs_.activation, [&](auto kind) {
      constexpr Activation activation = decltype(kind)::value;
      if constexpr (is_gate(activation)) {
        if (has_residual_ && attrs_.training) return apply<T, activation, true, true>(args, mean, scale);
      }
      has_residual_ ? apply<T, activation, true, false>(args, mean, scale)
                    : apply<T, activation, false, false>(args, mean, scale);
    });
  }

  /// Batch mean and inverse deviation into outputs 1 and 2; updates the running statistics.
  template <typename T>
  void statistics(const T* x, const KernelArgs& args, float* partial) const {
    rows_.sums(partial, Order::backward, [&](std::int64_t c, auto access, const auto& rows, f32x16& s1, f32x16& s2) {
      const f32x16 origin = access.load(x + c);
      rows.each([&](std::int64_t row) __attribute__((always_inline)) {
        const f32x16 d = rows.load(x + row * rows_.channels + c) - origin;
        s1 += d;
        s2 += d * d;
      });
    });
    auto* saved_mean = static_cast<float*>(args.outputs[1]);
    auto* saved_invstd = static_cast<float*>(args.outputs[2]);
    auto* running_mean = static_cast<float*>(args.inputs[BatchNorm::running_mean]);
    auto* running_var = static_cast<float*>(args.inputs[BatchNorm::running_var]);
    const double local_count = static_cast<double>(rows_.count);
    const double count = local_count * (collectives_ == nullptr ? 1 : collectives_->world_size());
    const auto momentum = static_cast<double>(attrs_.momentum);
    const auto finish = [&](std::int64_t c, double mean, double variance) {
      saved_mean[c] = static_cast<float>(mean);
      saved_invstd[c] = static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(attrs_.epsilon)));
      const double unbiased = variance * count / (count - 1);
      running_mean[c] = running_average(running_mean[c], mean, momentum);
      running_var[c] = running_average(running_var[c], unbiased, momentum);
    };
    float* exchanged = partial;  // block 0's sums, which are read before they are overwritten
    rows_.reduce(partial, [&](std::int64_t c, double s1, double s2) {
      const BatchStatistics deviations = batch_statistics(s1, s2, local_count);
      const double mean = static_cast<double>(static_cast<float>(x[c])) + deviations.mean;
      const double variance = deviations.variance;
      if (collectives_ == nullptr) return finish(c, mean, variance);
      // First and second moments about the running mean, which is the same on every rank and near the batch's.
      const double deviation = mean - static_cast<double>(running_mean[c]);
      exchanged[c] = static_cast<float>(deviation);
      exchanged[rows_.channels + c] = static_cast<float>(variance + deviation * deviation);
    });
    if (collectives_ == nullptr) return;
    average_over_ranks(exchanged);
    for (std::int64_t c = 0; c < rows_.channels; ++c) {
      const auto deviation = static_cast<double>(exchanged[c]);
      const double square = static_cast<double>(exchanged[rows_.channels + c]);
      finish(c, static_cast<double>(running_mean[c]) + deviation, std::max(0.0, square - deviation * deviation));
    }
  }

  void average_over_ranks(float* moments) const {
    const float factor = 1.0f / static_cast<float>(collectives_->world_size());
    collectives_->start_all_reduce(moments, 2 * rows_.channels, DType::f32, factor);
    collectives_->wait_all_reduces();
  }

  template <typename T, Activation activation, bool residual, bool masked>
  void apply(const KernelArgs& args, const float* mean, const float* scale) const {
    const auto* x = static_cast<const T*>(args.inputs[BatchNorm::x]);
    const auto* beta = static_cast<const float*>(args.inputs[BatchNorm::beta]);
    const T* added = residual ? static_cast<const T*>(args.inputs[BatchNorm::residual]) : nullptr;
    auto* y = static_cast<T*>(args.outputs[BatchNorm::y]);
    auto* mask = masked ? static_cast<std::uint8_t*>(args.outputs[BatchNorm::mask]) : nullptr;
    rows_.map(Order::forward, [&](std::int64_t c, auto access, const auto& rows) {
      const f32x16 m = access.load(mean + c), s = access.load(scale + c), b = access.load(beta + c);
      rows.each([&](std::int64_t row) __attribute__((always_inline)) {
        const std::int64_t at = row * rows_.channels + c;
        f32x16 v = (rows.load(x + at) - m) * s + b;
        if constexpr (residual) v += rows.load(added + at);
        v = activate16<activation>(v);
        rows.store(y + at, v);
        if constexpr (masked) access.store_bits(mask + at / 8, gate_bits<activation>(v));
      });
    });
  }

  BatchNorm::Attributes attrs_;
  DType dtype_;
  RowBlocks rows_;
  Collectives* collectives_;  // null: statistics of this rank only
  bool has_residual_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm(const KernelContext& context) {
  return std::make_unique<BatchNormKernel>(context);
}

}  // namespace ptrain::cpu
