// Copies elements, or leaves them in place.
#include "core/ops/tensor/reshape.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/tensor/strided_runs.h"
#include "core/ops/tensor/broadcast.h"

namespace ptrain::cpu {
namespace {

class ReshapeKernel final : public Kernel {
 public:
  explicit ReshapeKernel(const KernelContext& context)
      : bytes_(static_cast<std::int64_t>(context.outputs[0].bytes())) {}

  void run(const KernelArgs& args) override {
    if (args.inputs[0] == args.outputs[0]) return;
    parallel_for(bytes_, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(static_cast<std::byte*>(args.outputs[0]) + begin,
                  static_cast<const std::byte*>(args.inputs[0]) + begin, static_cast<std::size_t>(end - begin));
    });
  }

 private:
  std::int64_t bytes_;
};

class ExpandKernel final : public Kernel {
 public:
  explicit ExpandKernel(const KernelContext& context)
      : output_(context.outputs[0]), index_(broadcast_index(context.inputs[0].shape, output_.shape)) {}

  void run(const KernelArgs& args) override {
    visit_size(output_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(output_.count(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        load_run(index_, static_cast<const T*>(args.inputs[0]), begin, end - begin,
                 static_cast<T*>(args.outputs[0]) + begin);
      });
    });
  }

 private:
  TensorDesc output_;
  StridedIndex index_;
};

}  // namespace

std::unique_ptr<Kernel> make_reshape(const KernelContext& context) { return std::make_unique<ReshapeKernel>(context); }
std::unique_ptr<Kernel> make_expand(const KernelContext& context) { return std::make_unique<ExpandKernel>(context); }

}  // namespace ptrain::cpu
