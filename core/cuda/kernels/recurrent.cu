// Recurrent layers on a GPU: cuBLASLt's products, and a thread per unit of each sequence.
#include "core/base/round_up.h"
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/check.h"
#include "core/cuda/library/gemm.h"
#include "core/cuda/primitives/columns.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/sequence/recurrent_steps.h"

#include <algorithm>

namespace ptrain::cuda {
namespace {

template <auto function, typename Step>
__global__ void __launch_bounds__(block_threads) units_kernel(Step step, std::int64_t sequences) {
  for (std::int64_t i = grid_thread(); i < sequences * step.units; i += grid_threads())
    function(step, i / step.units, i % step.units);
}

__global__ void __launch_bounds__(block_threads)
    sum_peepholes_kernel(const float* dgates, const float* previous_cells, const float* cells, std::int64_t rows,
                         std::int64_t units, float* dpeepholes) {
  const std::int64_t j = grid_thread();
  if (j < units) LstmStep::sum_peepholes(dgates, previous_cells, cells, rows, units, j, dpeepholes);
}

class CudaRunner {
 public:
  CudaRunner(const KernelContext& context, Device& device, const RecurrentExtent& extent,
             const std::vector<RecurrentProduct>& products)
      : device_(device), extent_(extent) {
    for (const RecurrentProduct& p : products) {
      MatrixProduct product;
      product.rows = p.rows;
      product.columns = p.columns;
      product.inner = p.inner;
      product.left_transposed = p.left_transposed;
      product.right_transposed = p.right_transposed;
      product.is_slice = true;
      products_.push_back(Gemm::make_plain(context, device, product));
      library_bytes_ = std::max(library_bytes_, products_.back()->workspace_bytes());
    }
    for (std::int64_t values = 1; values <= LstmStep::gates; ++values) {
      const ColumnSums sums(device, extent.rows(), values * extent.units);
      library_bytes_ = std::max(library_bytes_, sums.workspace_bytes());
    }
  }

  /// Of the products and of sums, one at a time.
  std::size_t library_bytes() const { return library_bytes_; }
  void set_library_workspace(void* workspace) { library_workspace_ = workspace; }
  std::string implementation() const { return products_.front()->implementation(); }

  void multiply(int product, const float* left, const float* right, float* out) const {
    products_[static_cast<std::size_t>(product)]->run({left, right, out}, library_workspace_);
  }
  template <auto function, typename Step>
  void for_units(const Step& step) const {
    launch(units_kernel<function, Step>, grid_blocks(device_, extent_.state()), block_threads, device_, step,
           extent_.sequences);
  }
  void copy(float* to, const float* from, std::int64_t count) const {
    CUDA_CHECK(cudaMemcpyAsync(to, from, bytes(count), cudaMemcpyDeviceToDevice, device_.stream()));
  }
  void zero(float* values, std::int64_t count) const {
    CUDA_CHECK(cudaMemsetAsync(values, 0, bytes(count), device_.stream()));
  }
  void sum_columns(const float* x, std::int64_t columns, float* sums) const {
    ColumnSums(device_, extent_.rows(), columns).run(DType::f32, x, DType::f32, sums, library_workspace_);
  }
  void sum_peepholes(const float* dgates, const float* previous_cells, const float* cells, float* dpeepholes) const {
    launch(sum_peepholes_kernel, blocks_for(extent_.units), block_threads, device_, dgates, previous_cells, cells,
           extent_.rows(), extent_.units, dpeepholes);
  }

 private:
  static std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }

  Device& device_;
  RecurrentExtent extent_;
  std::vector<std::unique_ptr<Gemm>> products_;
  std::size_t library_bytes_ = 0;
  void* library_workspace_ = nullptr;
};

/// `Course` is RecurrentForward or RecurrentBackward of a cell.
template <typename Course>
class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const KernelContext& context, Device& device, const RecurrentAttributes& attributes,
                  const Shape& states)
      : course_(attributes, RecurrentExtent(states)),
        runner_(context, device, RecurrentExtent(states), course_.products()) {}

  std::size_t workspace_bytes() const override { return course_bytes() + runner_.library_bytes(); }
  KernelRecord record() const override { return {runner_.implementation()}; }
  void run(const KernelArgs& args) override {
    runner_.set_library_workspace(static_cast<std::byte*>(args.workspace) + course_bytes());
    course_.run(runner_, args.inputs, args.outputs, static_cast<float*>(args.workspace));
  }

 private:
  std::size_t course_bytes() const {
    constexpr std::size_t alignment = 256;  // required by cuBLASLt
    const std::size_t bytes = static_cast<std::size_t>(course_.workspace_count()) * sizeof(float);
    return round_up(bytes, alignment);
  }

  Course course_;
  CudaRunner runner_;
};

template <template <typename> typename Course>
std::unique_ptr<Kernel> make_kernel(const KernelContext& context, Device& device, const RecurrentAttributes& attributes,
                                    const Shape& states) {
  std::unique_ptr<Kernel> kernel;
  visit_cell(attributes.cell, [&](auto cell) {
    kernel = std::make_unique<RecurrentKernel<Course<decltype(cell)>>>(context, device, attributes, states);
  });
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> make_recurrent(const KernelContext& context, Device& device) {
  return make_kernel<RecurrentForward>(context, device, context.op_as<Recurrent>().attrs(),
                                       context.outputs[Recurrent::y].shape);
}
std::unique_ptr<Kernel> make_recurrent_grad(const KernelContext& context, Device& device) {
  return make_kernel<RecurrentBackward>(context, device, context.op_as<RecurrentGrad>().attrs(),
                                        context.inputs[RecurrentGrad::previous].shape);
}

}  // namespace ptrain::cuda
