// Recurrent layers on the CPU: oneDNN's products, and units side by side in vectors.
#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/onednn/onednn.h"
#include "core/ops/sequence/recurrent_steps.h"

#include <algorithm>

namespace ptrain::cpu {
namespace {

constexpr std::int64_t unit_grain = 2048;  // units worth a thread

class CpuRunner {
 public:
  CpuRunner(const RecurrentExtent& extent, std::vector<RecurrentProduct> products)
      : extent_(extent), products_(std::move(products)) {}

  void multiply(int product, const float* left, const float* right, float* out) const {
    const RecurrentProduct& p = products_[static_cast<std::size_t>(product)];
    const dnnl_status_t status = dnnl_sgemm(p.left_transposed ? 'T' : 'N', p.right_transposed ? 'T' : 'N', p.rows,
                                            p.columns, p.inner, 1.0f, left, p.left_transposed ? p.rows : p.inner, right,
                                            p.right_transposed ? p.inner : p.columns, 0.0f, out, p.columns);
    if (status != dnnl_success) throw dnnl::error(status, "dnnl_sgemm failed");
  }

  template <auto function, typename Step>
  void for_units(const Step& step) const {
    parallel_for(extent_.sequences, std::max<std::int64_t>(1, unit_grain / extent_.units),
                 [&](std::int64_t begin, std::int64_t end) {
                   const Step s = step;  // its members in registers
                   for (std::int64_t n = begin; n < end; ++n) {
#pragma omp simd
                     for (std::int64_t j = 0; j < s.units; ++j) function(s, n, j);
                   }
                 });
  }

  void copy(float* to, const float* from, std::int64_t count) const { std::copy_n(from, count, to); }
  void zero(float* values, std::int64_t count) const { std::fill_n(values, count, 0.0f); }

  void sum_columns(const float* x, std::int64_t columns, float* sums) const {
    parallel_for(columns, 16, [&](std::int64_t begin, std::int64_t end) {
      std::fill(sums + begin, sums + end, 0.0f);
      for (std::int64_t row = 0; row < extent_.rows(); ++row)
        for (std::int64_t c = begin; c < end; ++c) sums[c] += x[row * columns + c];
    });
  }
  void sum_peepholes(const float* dgates, const float* previous_cells, const float* cells, float* dpeepholes) const {
    parallel_for(extent_.units, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j)
        LstmStep::sum_peepholes(dgates, previous_cells, cells, extent_.rows(), extent_.units, j, dpeepholes);
    });
  }

 private:
  RecurrentExtent extent_;
  std::vector<RecurrentProduct> products_;
};

/// `Course` is RecurrentForward or RecurrentBackward of a cell.
template <typename Course>
class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const RecurrentAttributes& attributes, const Shape& states)
      : course_(attributes, RecurrentExtent(states)), runner_(RecurrentExtent(states), course_.products()) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(course_.workspace_count()) * sizeof(float);
  }
  KernelRecord record() const override { return {"sgemm"}; }
  void run(const KernelArgs& args) override {
    course_.run(runner_, args.inputs, args.outputs, static_cast<float*>(args.workspace));
  }

 private:
  Course course_;
  CpuRunner runner_;
};

template <template <typename> typename Course>
std::unique_ptr<Kernel> make_kernel(const RecurrentAttributes& attributes, const Shape& states) {
  std::unique_ptr<Kernel> kernel;
  visit_cell(attributes.cell, [&](auto cell) {
    kernel = std::make_unique<RecurrentKernel<Course<decltype(cell)>>>(attributes, states);
  });
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> make_recurrent(const KernelContext& context) {
  return make_kernel<RecurrentForward>(context.op_as<Recurrent>().attrs(), context.outputs[Recurrent::y].shape);
}
std::unique_ptr<Kernel> make_recurrent_grad(const KernelContext& context) {
  return make_kernel<RecurrentBackward>(context.op_as<RecurrentGrad>().attrs(),
                                        context.inputs[RecurrentGrad::previous].shape);
}

}  // namespace ptrain::cpu
