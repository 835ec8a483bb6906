// Sum of squares over the flat gradients; one pass gives both the norm and the overflow flag.
#include "core/ops/training/grad_norm.h"
#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/sparse/exchanged_rows.h"
#include "core/ops/training/loss_scale_update.h"

#include <algorithm>
#include <cmath>

namespace ptrain::cpu {
namespace {

/// Blocked partial sums in a fixed order: the result does not depend on the number of threads.
template <typename T>
double sum_of_squares(const T* x, std::int64_t count) {
  constexpr std::int64_t block = 1 << 16;
  const std::int64_t blocks = (count + block - 1) / block;
  std::vector<double> partial(static_cast<std::size_t>(blocks));
  parallel_for(blocks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = first; b < last; ++b) {
      float lanes[16] = {};
      const std::int64_t begin = b * block, end = std::min(count, begin + block);
      std::int64_t i = begin;
      for (; i + 16 <= end; i += 16) {
        for (int lane = 0; lane < 16; ++lane) {
          const float value = static_cast<float>(x[i + lane]);
          lanes[lane] += value * value;
        }
      }
      double total = 0;
      for (; i < end; ++i) total += static_cast<double>(static_cast<float>(x[i])) * static_cast<float>(x[i]);
      for (const float lane : lanes) total += static_cast<double>(lane);
      partial[static_cast<std::size_t>(b)] = total;
    }
  });
  double total = 0;
  for (const double p : partial) total += p;
  return total;
}

template <typename T>
bool has_not_finite(const T* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(static_cast<float>(x[i]))) return true;
  }
  return false;
}

/// Sum of squares, and whether a gradient is not finite.
struct Squares {
  double sum = 0;
  bool not_finite = false;

  template <typename T>
  void add(const T* x, std::int64_t count) {
    const double squares = sum_of_squares(x, count);
    // A finite gradient above 1.8e19 overflows the squares: look again before calling it an overflow.
    not_finite = not_finite || (!std::isfinite(squares) && has_not_finite(x, count));
    sum += squares;
  }

  /// GradNorm's output. `scale` may be null.
  void write_norm(const void* scale, void* norm) const {
    const auto* state = static_cast<const float*>(scale);
    const double unscale = state == nullptr ? 1.0 : 1.0 / static_cast<double>(state[LossScaleState::scale]);
    auto* out = static_cast<float*>(norm);
    out[0] = static_cast<float>(std::sqrt(sum) * unscale);
    out[1] = not_finite ? 1.0f : 0.0f;
  }
};

class GradNormKernel final : public Kernel {
 public:
  explicit GradNormKernel(const KernelContext& context) : descs_(context.inputs.begin(), context.inputs.begin() + 2) {}

  void run(const KernelArgs& args) override {
    Squares squares;
    for (std::size_t i = 0; i < descs_.size(); ++i) {
      if (args.inputs[i] == nullptr) continue;
      visit_floating(descs_[i].dtype, [&](auto zero) {
        squares.add(static_cast<const decltype(zero)*>(args.inputs[i]), descs_[i].count());
      });
    }
    squares.write_norm(args.inputs[GradNorm::loss_scale], args.outputs[0]);
  }

 private:
  std::vector<TensorDesc> descs_;
};

class RowsNormKernel final : public Kernel {
 public:
  explicit RowsNormKernel(const KernelContext& context) : width_(context.inputs[RowsNorm::values].shape[1]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t used = *static_cast<const std::int32_t*>(args.inputs[RowsNorm::used]);
    Squares squares;
    squares.add(static_cast<const float*>(args.inputs[RowsNorm::values]), used * width_);
    squares.write_norm(args.inputs[RowsNorm::loss_scale], args.outputs[0]);
  }

 private:
  std::int64_t width_;
};

class NormOfPartsKernel final : public Kernel {
 public:
  explicit NormOfPartsKernel(const KernelContext& context) : values_(context.inputs[NormOfParts::parts].count()) {}

  void run(const KernelArgs& args) override {
    double squares = 0;
    float not_finite = 0;
    const auto add = [&](const float* part) {
      squares += static_cast<double>(part[0]) * static_cast<double>(part[0]);
      not_finite = std::max(not_finite, part[1]);
    };
    const auto* parts = static_cast<const float*>(args.inputs[NormOfParts::parts]);
    for (std::int64_t i = 0; i < values_; i += 2) add(parts + i);
    if (const auto* another = static_cast<const float*>(args.inputs[NormOfParts::another])) add(another);
    auto* out = static_cast<float*>(args.outputs[0]);
    out[0] = static_cast<float>(std::sqrt(squares));
    out[1] = not_finite;
  }

 private:
  std::int64_t values_;
};

}  // namespace

std::unique_ptr<Kernel> make_norm_of_parts(const KernelContext& context) {
  return std::make_unique<NormOfPartsKernel>(context);
}

std::unique_ptr<Kernel> make_rows_norm(const KernelContext& context) {
  return std::make_unique<RowsNormKernel>(context);
}

std::unique_ptr<Kernel> make_grad_norm(const KernelContext& context) {
  return std::make_unique<GradNormKernel>(context);
}

}  // namespace ptrain::cpu
