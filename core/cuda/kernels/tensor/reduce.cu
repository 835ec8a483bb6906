// Sums and maxima over axes, in a fixed order: partial results, by a block if the last axis is reduced and by a thread
// if it is kept; then their combination, in double.
#include "core/ops/tensor/reduce.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/strided_index.h"

namespace ptrain::cuda {
namespace {

struct AddUp {
  __device__ static float start() { return 0; }
  template <typename V>
  __device__ static V join(V a, V b) {
    return a + b;
  }
};

/// The maximum with a NaN is NaN.
struct TakeLargest {
  __device__ static float start() { return bits_to_float(0xff800000u); }
  template <typename V>
  __device__ static V join(V a, V b) {
    return b > a || b != b ? b : a;
  }
};

/// The axes of x, grouped into reduced and kept ones. A part has `each` elements of a result.
struct ReduceExtent {
  StridedIndex kept, reduced;
  std::int64_t results, elements, parts, each;
};

/// partial[part][result]; one block per result and part.
template <typename Join, typename T>
__global__ void __launch_bounds__(block_threads) reduce_rows_kernel(ReduceExtent e, const T* x, double* partial) {
  __shared__ double warps[block_threads / 32];
  for (std::int64_t task = blockIdx.x; task < e.results * e.parts; task += gridDim.x) {
    const std::int64_t part = task / e.results, first = e.kept.offset(task % e.results);
    const std::int64_t end = (part + 1) * e.each < e.elements ? (part + 1) * e.each : e.elements;
    float run = Join::start();
    for (std::int64_t i = part * e.each + threadIdx.x; i < end; i += block_threads) {
      run = Join::join(run, to_float(x[first + e.reduced.offset(i)]));
    }
    double value = static_cast<double>(run);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      value = Join::join(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    __syncthreads();  // the last task's values have been read
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x != 0) continue;
    for (int warp = 1; warp < block_threads / 32; ++warp) value = Join::join(value, warps[warp]);
    partial[task] = value;
  }
}

/// The same with one thread per result and part.
template <typename Join, typename T>
__global__ void __launch_bounds__(block_threads) reduce_columns_kernel(ReduceExtent e, const T* x, double* partial) {
  for (std::int64_t task = grid_thread(); task < e.results * e.parts; task += grid_threads()) {
    const std::int64_t part = task / e.results, first = e.kept.offset(task % e.results);
    const std::int64_t end = (part + 1) * e.each < e.elements ? (part + 1) * e.each : e.elements;
    float run = Join::start();
    for (std::int64_t i = part * e.each; i < end; ++i) {
      run = Join::join(run, to_float(x[first + e.reduced.offset(i)]));
    }
    partial[task] = static_cast<double>(run);
  }
}

template <typename Join, typename T>
__global__ void __launch_bounds__(block_threads)
    join_parts_kernel(std::int64_t results, std::int64_t parts, double factor, const double* partial, T* y) {
  for (std::int64_t result = grid_thread(); result < results; result += grid_threads()) {
    double value = partial[result];
    for (std::int64_t part = 1; part < parts; ++part) value = Join::join(value, partial[part * results + result]);
    y[result] = from_float<T>(static_cast<float>(value * factor));
  }
}

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const KernelContext& context, Device& device)
      : device_(device), kind_(context.op_as<Reduce>().attrs().kind), x_(context.inputs[0]) {
    const std::vector<bool> reduced = reduced_axes(context.op_as<Reduce>().attrs(), x_.shape.rank());
    std::int64_t stride = x_.count();
    for (int axis = 0; axis < x_.shape.rank(); ++axis) {
      stride /= x_.shape[axis];
      const bool is_reduced = reduced[static_cast<std::size_t>(axis)];
      (is_reduced ? extent_.reduced : extent_.kept).add(x_.shape[axis], stride);
      if (x_.shape[axis] > 1) last_reduced_ = is_reduced;
    }
    extent_.results = extent_.kept.count();
    extent_.elements = extent_.reduced.count();
    // Enough tasks to fill the device, but no parts so small that combining them takes longer; for columns at most 128
    // elements, so that float sums stay precise.
    const std::int64_t least = last_reduced_ ? 16 * block_threads : 32;
    const std::int64_t wanted = std::max<std::int64_t>(1, (1 << 16) / extent_.results);
    extent_.each = std::max((extent_.elements + wanted - 1) / wanted, least);
    if (!last_reduced_) extent_.each = std::min<std::int64_t>(extent_.each, 128);
    extent_.parts = (extent_.elements + extent_.each - 1) / extent_.each;
  }

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(extent_.results * extent_.parts) * sizeof(double);
  }

  void run(const KernelArgs& args) override {
    visit_floating(x_.dtype, [&](auto zero) {
      if (kind_ == ReduceKind::max) {
        run_as<TakeLargest, decltype(zero)>(args);
      } else {
        run_as<AddUp, decltype(zero)>(args);
      }
    });
  }

 private:
  template <typename Join, typename T>
  void run_as(const KernelArgs& args) const {
    const auto* x = static_cast<const T*>(args.inputs[0]);
    auto* partial = static_cast<double*>(args.workspace);
    const std::int64_t tasks = extent_.results * extent_.parts;
    if (last_reduced_) {
      launch(reduce_rows_kernel<Join, T>, grid_blocks(device_, tasks * block_threads), block_threads, device_, extent_,
             x, partial);
    } else {
      launch(reduce_columns_kernel<Join, T>, grid_blocks(device_, tasks), block_threads, device_, extent_, x, partial);
    }
    const double factor = kind_ == ReduceKind::mean ? 1.0 / static_cast<double>(extent_.elements) : 1.0;
    launch(join_parts_kernel<Join, T>, grid_blocks(device_, extent_.results), block_threads, device_, extent_.results,
           extent_.parts, factor, partial, static_cast<T*>(args.outputs[0]));
  }

  Device& device_;
  ReduceKind kind_;
  TensorDesc x_;
  ReduceExtent extent_ = {};
  bool last_reduced_ = false;
};

}  // namespace

std::unique_ptr<Kernel> make_reduce(const KernelContext& context, Device& device) {
  return std::make_unique<ReduceKernel>(context, device);
}

}  // namespace ptrain::cuda
