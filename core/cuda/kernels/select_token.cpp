// Strided copies, which the copy engine does.
#include "core/ops/select_token.h"

#include "core/cuda/check.h"
#include "core/cuda/kernels.h"

namespace ptrain::cuda {
namespace {

/// Sizes in bytes of one token and of one sequence.
struct Layout {
  std::size_t batch;
  std::size_t token;
  std::size_t sequence;
  std::size_t offset;
};

Layout layout_of(const TensorDesc& sequences, std::int64_t index) {
  const std::size_t token = static_cast<std::size_t>(sequences.shape[2]) * size_of(sequences.dtype);
  return {static_cast<std::size_t>(sequences.shape[0]), token, token * static_cast<std::size_t>(sequences.shape[1]),
          token * static_cast<std::size_t>(index)};
}

class SelectTokenKernel final : public Kernel {
 public:
  SelectTokenKernel(Layout layout, Device& device) : device_(device), layout_(layout) {}

  void run(const KernelArgs& args) override {
    const char* x = static_cast<const char*>(args.inputs[0]) + layout_.offset;
    CUDA_CHECK(cudaMemcpy2DAsync(args.outputs[0], layout_.token, x, layout_.sequence, layout_.token, layout_.batch,
                                 cudaMemcpyDeviceToDevice, device_.stream()));
  }

 private:
  Device& device_;
  Layout layout_;
};

class SelectTokenGradKernel final : public Kernel {
 public:
  SelectTokenGradKernel(Layout layout, Device& device) : device_(device), layout_(layout) {}

  void run(const KernelArgs& args) override {
    char* dx = static_cast<char*>(args.outputs[0]);
    CUDA_CHECK(cudaMemsetAsync(dx, 0, layout_.sequence * layout_.batch, device_.stream()));
    CUDA_CHECK(cudaMemcpy2DAsync(dx + layout_.offset, layout_.sequence, args.inputs[0], layout_.token, layout_.token,
                                 layout_.batch, cudaMemcpyDeviceToDevice, device_.stream()));
  }

 private:
  Device& device_;
  Layout layout_;
};

}  // namespace

std::unique_ptr<Kernel> make_select_token(const KernelContext& context, Device& device) {
  return std::make_unique<SelectTokenKernel>(layout_of(context.inputs[0], context.op_as<SelectToken>().index()),
                                             device);
}
std::unique_ptr<Kernel> make_select_token_grad(const KernelContext& context, Device& device) {
  return std::make_unique<SelectTokenGradKernel>(
      layout_of(context.outputs[0], context.op_as<SelectTokenGrad>().index()), device);
}

}  // namespace ptrain::cuda
