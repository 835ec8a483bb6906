// Products of matrices with a vector each: a warp for each row; in the gradient a thread has columns of its own, so
// that da may take a's place.
#include "core/ops/tensor/matvec.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/activation_math.h"

namespace ptrain::cuda {
namespace {

constexpr int rows_per_block = block_threads / 32;

template <typename T>
__global__ void __launch_bounds__(block_threads) matvec_kernel(bool relu, std::int64_t total_rows, std::int64_t rows,
                                                               std::int64_t columns, const T* a, const T* v, T* y) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * rows_per_block + threadIdx.x / 32;
  if (row >= total_rows) return;
  const T *left = a + row * columns, *right = v + row / rows * columns;
  float sum = 0;
  for (std::int64_t c = threadIdx.x % 32; c < columns; c += 32) {
    const float x = to_float(left[c]);
    sum += (relu ? activate<Activation::relu>(x) : x) * to_float(right[c]);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) y[row] = from_float<T>(sum);
}

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    matvec_grad_kernel(bool relu, std::int64_t items, std::int64_t rows, std::int64_t columns, const T* a, const T* v,
                       const T* dy, T* da, T* dv) {
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const std::int64_t vector = item * n, matrix = vector / columns, column = vector % columns;
    float factors[n], sums[n] = {};
    load(v + vector, factors);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = (matrix * rows + row) * columns + column;
      const float gradient = to_float(dy[matrix * rows + row]);
      float values[n];
      load(a + at, values);
#pragma unroll
      for (int k = 0; k < n; ++k) {
        sums[k] += (relu ? activate<Activation::relu>(values[k]) : values[k]) * gradient;
        const float dx = factors[k] * gradient;
        values[k] = relu ? activation_gradient<Activation::relu>(dx, values[k]) : dx;
      }
      store(da + at, values);
    }
    store(dv + vector, sums);
  }
}

class MatvecKernel final : public Kernel {
 public:
  MatvecKernel(const KernelContext& context, Device& device)
      : device_(device), a_(context.inputs[Matvec::a]), relu_(context.op_as<Matvec>().attrs().relu) {}

  void run(const KernelArgs& args) override {
    visit_floating(a_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const std::int64_t rows = a_.shape[0] * a_.shape[1];
      launch(matvec_kernel<T>, blocks_for(rows, rows_per_block), block_threads, device_, relu_, rows, a_.shape[1],
             a_.shape[2], static_cast<const T*>(args.inputs[Matvec::a]), static_cast<const T*>(args.inputs[Matvec::v]),
             static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc a_;
  bool relu_;
};

class MatvecGradKernel final : public Kernel {
 public:
  using Op = MatvecGrad;

  MatvecGradKernel(const KernelContext& context, Device& device)
      : device_(device), a_(context.inputs[Op::a]), relu_(context.op_as<Op>().attrs().relu) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(a_.shape[2], a_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      const std::int64_t items = a_.shape[0] * a_.shape[2] / n;
      launch(matvec_grad_kernel<decltype(n)::value, T>, grid_blocks(device_, items), block_threads, device_, relu_,
             items, a_.shape[1], a_.shape[2], static_cast<const T*>(args.inputs[Op::a]),
             static_cast<const T*>(args.inputs[Op::v]), static_cast<const T*>(args.inputs[Op::dy]),
             static_cast<T*>(args.outputs[Op::da]), static_cast<T*>(args.outputs[Op::dv]));
    });
  }

 private:
  Device& device_;
  TensorDesc a_;
  bool relu_;
};

}  // namespace

std::unique_ptr<Kernel> make_matvec(const KernelContext& context, Device& device) {
  return std::make_unique<MatvecKernel>(context, device);
}
std::unique_ptr<Kernel> make_matvec_grad(const KernelContext& context, Device& device) {
  return std::make_unique<MatvecGradKernel>(context, device);
}

}  // namespace ptrain::cuda
