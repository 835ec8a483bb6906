// Rows are distributed among the threads: each is in the gradient once, so no two threads write the same row.
#include "core/ops/sparse/sparse_update.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/training/optimizer_buffers.h"

namespace ptrain::cpu {
namespace {

/// A table and its moments.
struct TableRows {
  float* table;
  Moments moments;
  std::int64_t width;
};

void update_elements(const OptimizerSettings& s, const StepFactors& f, float decay, const float* gradient,
                     std::int64_t row, const TableRows& r) {
  for (std::int64_t c = 0; c < r.width; ++c) {
    const std::int64_t at = row * r.width + c;
    update_element(s, f, decay, gradient[c], r.table + at, moments_at(r.moments, at));
  }
}

void update_by_row_sum(const OptimizerSettings& s, const StepFactors& f, float decay, const float* gradient,
                       std::int64_t row, const TableRows& r) {
  float* p = r.table + row * r.width;
  float squares = 0;
  for (std::int64_t c = 0; c < r.width; ++c) {
    const float g = gradient[c] * f.gradient_scale + decay * p[c];
    squares += g * g;
  }
  const float rate = row_wise_rate(s, f, r.moments.first[row], squares, r.width);
  for (std::int64_t c = 0; c < r.width; ++c) p[c] -= rate * (gradient[c] * f.gradient_scale + decay * p[c]);
}

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
    const TableRows state{in(Input::table), {in(Input::moment1), in(Input::moment2), in(Input::moment3)}, width_};
    const OptimizerSettings settings = attributes_.settings;
    const bool row_sums = keeps_row_sums(settings);
    const float decay = attributes_.decay ? settings.weight_decay : 0.0f;
    parallel_for(count_, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (rows[i] < 0) continue;
        if (row_sums) {
          update_by_row_sum(settings, factors, decay, values + i * width_, rows[i], state);
        } else {
          update_elements(settings, factors, decay, values + i * width_, rows[i], state);
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
