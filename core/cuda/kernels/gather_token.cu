// Copies single rows; the offsets of packed sequences are read on the device.
#include "core/ops/text/gather_token.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/check.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/sequences.h"

namespace ptrain::cuda {
namespace {

/// The rows of x (or dx), padded or packed, and the selected row of each of `batch` sequences.
struct Layout {
  std::int64_t batch, length, tokens, width, index;
  DType dtype;

  Layout(const TensorDesc& x, const TensorDesc& y, std::int64_t selected)
      : batch(y.shape[0]),
        length(x.shape[-2]),
        tokens(x.count() / x.shape[-1]),
        width(x.shape[-1]),
        index(selected),
        dtype(x.dtype) {}
};

template <typename T>
__global__ void __launch_bounds__(block_threads) select_kernel(Layout layout, SequencePlaces places, const T* x, T* y) {
  const std::int64_t i = grid_thread();
  if (i >= layout.batch * layout.width) return;
  y[i] = x[(places.begin(i / layout.width) + layout.index) * layout.width + i % layout.width];
}

/// Writes into zeroed rows.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    select_grad_kernel(Layout layout, SequencePlaces places, const T* dy, T* dx) {
  const std::int64_t i = grid_thread();
  if (i >= layout.batch * layout.width) return;
  dx[(places.begin(i / layout.width) + layout.index) * layout.width + i % layout.width] = dy[i];
}

class GatherTokenKernel final : public Kernel {
 public:
  GatherTokenKernel(const Layout& layout, Device& device) : device_(device), layout_(layout) {}

  void run(const KernelArgs& args) override {
    const SequencePlaces places = sequence_places(layout_.batch, layout_.length, args.inputs, 1);
    visit_floating(layout_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(select_kernel<T>, blocks_for(layout_.batch * layout_.width), block_threads, device_, layout_, places,
             static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  Layout layout_;
};

class GatherTokenGradKernel final : public Kernel {
 public:
  GatherTokenGradKernel(const Layout& layout, Device& device) : device_(device), layout_(layout) {}

  void run(const KernelArgs& args) override {
    const SequencePlaces places = sequence_places(layout_.batch, layout_.length, args.inputs, 1);
    const auto bytes = static_cast<std::size_t>(layout_.tokens * layout_.width) * element_size(layout_.dtype);
    CUDA_CHECK(cudaMemsetAsync(args.outputs[0], 0, bytes, device_.stream()));
    visit_floating(layout_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(select_grad_kernel<T>, blocks_for(layout_.batch * layout_.width), block_threads, device_, layout_, places,
             static_cast<const T*>(args.inputs[0]), static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  Layout layout_;
};

}  // namespace

std::unique_ptr<Kernel> make_gather_token(const KernelContext& context, Device& device) {
  const Layout layout(context.inputs[0], context.outputs[0], context.op_as<GatherToken>().index());
  return std::make_unique<GatherTokenKernel>(layout, device);
}
std::unique_ptr<Kernel> make_gather_token_grad(const KernelContext& context, Device& device) {
  const Layout layout(context.outputs[0], context.inputs[0], context.op_as<GatherTokenGrad>().index());
  return std::make_unique<GatherTokenGradKernel>(layout, device);
}

}  // namespace ptrain::cuda
