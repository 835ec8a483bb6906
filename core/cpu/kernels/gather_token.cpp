#include "core/ops/text/gather_token.h"

#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/sequences.h"

#include <cstring>

namespace ptrain::cpu {
namespace {

/// The rows of x (or dx), padded or packed, and the selected row of each of `batch` sequences.
struct Layout {
  std::int64_t batch;
  std::int64_t length;  // of padded sequences
  std::int64_t tokens;
  std::int64_t index;
  std::size_t row_bytes;

  Layout(const TensorDesc& x, const TensorDesc& y, std::int64_t selected)
      : batch(y.shape[0]),
        length(x.shape[-2]),
        tokens(x.count() / x.shape[-1]),
        index(selected),
        row_bytes(static_cast<std::size_t>(x.shape[-1]) * element_size(x.dtype)) {}

  std::size_t row_offset(const SequencePlaces& places, std::int64_t b) const {
    return static_cast<std::size_t>(places.begin(b) + index) * row_bytes;
  }
};

class GatherTokenKernel final : public Kernel {
 public:
  explicit GatherTokenKernel(Layout layout) : layout_(layout) {}

  void run(const KernelArgs& args) override {
    const SequencePlaces places = sequence_places(layout_.batch, layout_.length, args.inputs, 1);
    const char* x = static_cast<const char*>(args.inputs[0]);
    char* y = static_cast<char*>(args.outputs[0]);
    for (std::int64_t b = 0; b < layout_.batch; ++b, y += layout_.row_bytes) {
      std::memcpy(y, x + layout_.row_offset(places, b), layout_.row_bytes);
    }
  }

 private:
  Layout layout_;
};

class GatherTokenGradKernel final : public Kernel {
 public:
  explicit GatherTokenGradKernel(Layout layout) : layout_(layout) {}

  void run(const KernelArgs& args) override {
    const SequencePlaces places = sequence_places(layout_.batch, layout_.length, args.inputs, 1);
    const char* dy = static_cast<const char*>(args.inputs[0]);
    char* dx = static_cast<char*>(args.outputs[0]);
    std::memset(dx, 0, layout_.row_bytes * static_cast<std::size_t>(layout_.tokens));
    for (std::int64_t b = 0; b < layout_.batch; ++b, dy += layout_.row_bytes) {
      std::memcpy(dx + layout_.row_offset(places, b), dy, layout_.row_bytes);
    }
  }

 private:
  Layout layout_;
};

}  // namespace

std::unique_ptr<Kernel> make_gather_token(const KernelContext& context) {
  return std::make_unique<GatherTokenKernel>(
      Layout(context.inputs[0], context.outputs[0], context.op_as<GatherToken>().index()));
}
std::unique_ptr<Kernel> make_gather_token_grad(const KernelContext& context) {
  return std::make_unique<GatherTokenGradKernel>(
      Layout(context.outputs[0], context.inputs[0], context.op_as<GatherTokenGrad>().index()));
}

}  // namespace ptrain::cpu
