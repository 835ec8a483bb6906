// One launch per part, one thread per element, in either direction.
#include "core/ops/concat.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/element_size.h"

namespace ptrain::cuda {
namespace {

/// Columns [begin, begin + width) of rows of `whole` elements.
struct Part {
  std::int64_t rows;
  std::int64_t whole;
  std::int64_t begin;
  std::int64_t width;
};

template <typename T>
__global__ void __launch_bounds__(block_threads) put_part_kernel(Part part, const T* x, T* y) {
  for (std::int64_t i = grid_thread(); i < part.rows * part.width; i += grid_threads()) {
    y[i / part.width * part.whole + part.begin + i % part.width] = x[i];
  }
}

template <typename T>
__global__ void __launch_bounds__(block_threads) take_part_kernel(Part part, const T* dy, T* dx) {
  for (std::int64_t i = grid_thread(); i < part.rows * part.width; i += grid_threads()) {
    dx[i] = dy[i / part.width * part.whole + part.begin + i % part.width];
  }
}

std::vector<Part> make_parts(std::span<const TensorDesc> tensors, const TensorDesc& whole, std::optional<int> axis) {
  std::vector<Part> parts;
  std::int64_t begin = 0;
  const std::int64_t rows = concatenated_rows(tensors[0].shape, axis);
  for (const TensorDesc& tensor : tensors) {
    parts.push_back({rows, whole.count() / rows, begin, tensor.count() / rows});
    begin += parts.back().width;
  }
  return parts;
}

class ConcatKernel final : public Kernel {
 public:
  ConcatKernel(const KernelContext& context, Device& device)
      : device_(device),
        dtype_(context.outputs[0].dtype),
        parts_(make_parts(context.inputs, context.outputs[0], context.op_as<Concat>().axis())) {}

  void run(const KernelArgs& args) override {
    visit_size(dtype_, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        launch(put_part_kernel<T>, grid_blocks(device_, parts_[i].rows * parts_[i].width), block_threads, device_,
               parts_[i], static_cast<const T*>(args.inputs[i]), static_cast<T*>(args.outputs[0]));
      }
    });
  }

 private:
  Device& device_;
  DType dtype_;
  std::vector<Part> parts_;
};

class ConcatGradKernel final : public Kernel {
 public:
  ConcatGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        dtype_(context.inputs[0].dtype),
        parts_(make_parts(context.outputs, context.inputs[0], context.op_as<ConcatGrad>().axis())) {}

  void run(const KernelArgs& args) override {
    visit_size(dtype_, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        launch(take_part_kernel<T>, grid_blocks(device_, parts_[i].rows * parts_[i].width), block_threads, device_,
               parts_[i], static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[i]));
      }
    });
  }

 private:
  Device& device_;
  DType dtype_;
  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<Kernel> make_concat(const KernelContext& context, Device& device) {
  return std::make_unique<ConcatKernel>(context, device);
}
std::unique_ptr<Kernel> make_concat_grad(const KernelContext& context, Device& device) {
  return std::make_unique<ConcatGradKernel>(context, device);
}

}  // namespace ptrain::cuda
