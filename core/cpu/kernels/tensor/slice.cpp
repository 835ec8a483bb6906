#include "core/ops/tensor/slice.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/tensor/strided_runs.h"

namespace ptrain::cpu {
namespace {

class SliceKernel final : public Kernel {
 public:
  explicit SliceKernel(const KernelContext& context)
      : output_(context.outputs[0]), extent_(slice_extent(context.op_as<Slice>().attrs(), context.inputs[0].shape)) {
    index_.add(extent_.outer, extent_.whole);
    index_.add(extent_.part, 1);
  }

  void run(const KernelArgs& args) override {
    visit_size(output_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(output_.count(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        load_run(index_, static_cast<const T*>(args.inputs[0]) + extent_.begin, begin, end - begin,
                 static_cast<T*>(args.outputs[0]) + begin);
      });
    });
  }

 private:
  TensorDesc output_;
  SliceExtent extent_;
  StridedIndex index_;
};

class SliceGradKernel final : public Kernel {
 public:
  explicit SliceGradKernel(const KernelContext& context)
      : size_(element_size(context.outputs[0].dtype)),
        extent_(slice_extent(context.op_as<SliceGrad>().attrs(), context.outputs[0].shape)) {}

  void run(const KernelArgs& args) override {
    const auto* dy = static_cast<const std::byte*>(args.inputs[0]);
    auto* dx = static_cast<std::byte*>(args.outputs[0]);
    const std::size_t whole = bytes(extent_.whole), part = bytes(extent_.part), first = bytes(extent_.begin);
    parallel_for(extent_.outer, std::max<std::int64_t>(1, (1 << 14) / extent_.whole),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
                     std::byte* to = dx + row * whole;
                     std::memset(to, 0, first);
                     std::memcpy(to + first, dy + row * part, part);
                     std::memset(to + first + part, 0, whole - first - part);
                   }
                 });
  }

 private:
  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * size_; }

  std::size_t size_;
  SliceExtent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_slice(const KernelContext& context) { return std::make_unique<SliceKernel>(context); }
std::unique_ptr<Kernel> make_slice_grad(const KernelContext& context) {
  return std::make_unique<SliceGradKernel>(context);
}

}  // namespace ptrain::cpu
