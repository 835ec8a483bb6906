#include "core/ops/select_token.h"

#include "core/cpu/kernels.h"

#include <cstring>

namespace ptrain::cpu {
namespace {

/// Sizes in bytes of one token and of one sequence.
struct Layout {
  std::int64_t batch;
  std::size_t token;
  std::size_t sequence;
  std::size_t offset;
};

Layout layout_of(const TensorDesc& sequences, std::int64_t index) {
  const std::size_t token = static_cast<std::size_t>(sequences.shape[2]) * size_of(sequences.dtype);
  return {sequences.shape[0], token, token * static_cast<std::size_t>(sequences.shape[1]),
          token * static_cast<std::size_t>(index)};
}

class SelectTokenKernel final : public Kernel {
 public:
  explicit SelectTokenKernel(Layout layout) : layout_(layout) {}

  void run(const KernelArgs& args) override {
    const char* x = static_cast<const char*>(args.inputs[0]) + layout_.offset;
    char* y = static_cast<char*>(args.outputs[0]);
    for (std::int64_t b = 0; b < layout_.batch; ++b, x += layout_.sequence, y += layout_.token) {
      std::memcpy(y, x, layout_.token);
    }
  }

 private:
  Layout layout_;
};

class SelectTokenGradKernel final : public Kernel {
 public:
  explicit SelectTokenGradKernel(Layout layout) : layout_(layout) {}

  void run(const KernelArgs& args) override {
    const char* dy = static_cast<const char*>(args.inputs[0]);
    char* dx = static_cast<char*>(args.outputs[0]);
    std::memset(dx, 0, layout_.sequence * static_cast<std::size_t>(layout_.batch));
    for (std::int64_t b = 0; b < layout_.batch; ++b, dx += layout_.sequence, dy += layout_.token) {
      std::memcpy(dx + layout_.offset, dy, layout_.token);
    }
  }

 private:
  Layout layout_;
};

}  // namespace

std::unique_ptr<Kernel> make_select_token(const KernelContext& context) {
  return std::make_unique<SelectTokenKernel>(layout_of(context.inputs[0], context.op_as<SelectToken>().index()));
}
std::unique_ptr<Kernel> make_select_token_grad(const KernelContext& context) {
  return std::make_unique<SelectTokenGradKernel>(
      layout_of(context.outputs[0], context.op_as<SelectTokenGrad>().index()));
}

}  // namespace ptrain::cpu
