// Copies rows; to add rows up, every thread owns rows of the result and adds to them in order.
#include "core/ops/tensor/gather.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/convert.h"

#include <cstring>

namespace ptrain::cpu {
namespace {

/// Number of rows of `inner` elements that justifies a thread.
std::int64_t choose_grain(const GatherExtent& e) { return std::max<std::int64_t>(1, (1 << 14) / e.inner); }

class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(const KernelContext& context)
      : extent_(gather_extent(context.op_as<Gather>().attrs(), context.inputs[Gather::x].shape,
                              context.inputs[Gather::indices].shape)),
        row_bytes_(static_cast<std::size_t>(extent_.inner) * element_size(context.outputs[0].dtype)) {}

  void run(const KernelArgs& args) override {
    const auto* x = static_cast<const std::byte*>(args.inputs[Gather::x]);
    const auto* indices = static_cast<const std::int32_t*>(args.inputs[Gather::indices]);
    auto* y = static_cast<std::byte*>(args.outputs[0]);
    const GatherExtent& e = extent_;
    parallel_for(e.batches * e.outer * e.picked, choose_grain(e), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t block = row / e.picked;
        const std::int64_t from = indices[block / e.outer * e.picked + row % e.picked];
        std::byte* to = y + static_cast<std::size_t>(row) * row_bytes_;
        if (from >= 0 && from < e.extent) {
          std::memcpy(to, x + static_cast<std::size_t>(block * e.extent + from) * row_bytes_, row_bytes_);
        } else {
          std::memset(to, 0, row_bytes_);
        }
      }
    });
  }

 private:
  GatherExtent extent_;
  std::size_t row_bytes_;
};

class ScatterAddKernel final : public Kernel {
 public:
  explicit ScatterAddKernel(const KernelContext& context)
      : output_(context.outputs[0]),
        extent_(gather_extent(context.op_as<ScatterAdd>().attrs(), output_.shape,
                              context.inputs[ScatterAdd::indices].shape)) {}

  /// f32 sums for low-precision results.
  std::size_t workspace_bytes() const override {
    return output_.dtype == DType::f32 ? 0 : static_cast<std::size_t>(output_.count()) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    const auto* indices = static_cast<const std::int32_t*>(args.inputs[ScatterAdd::indices]);
    visit_floating(output_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* rows = static_cast<const T*>(args.inputs[ScatterAdd::rows]);
      auto* y = static_cast<T*>(args.outputs[0]);
      const bool in_place = output_.dtype == DType::f32;
      auto* sums = static_cast<float*>(in_place ? args.outputs[0] : args.workspace);
      parallel_for(output_.count() / extent_.inner, choose_grain(extent_), [&](std::int64_t begin, std::int64_t end) {
        std::fill(sums + begin * extent_.inner, sums + end * extent_.inner, 0.0f);
        add_rows(rows, indices, begin, end, sums);
        if (!in_place) {
          convert_run(sums + begin * extent_.inner, y + begin * extent_.inner, (end - begin) * extent_.inner);
        }
      });
    });
  }

 private:
  /// Adds to rows [begin, end) of the result.
  template <typename T>
  void add_rows(const T* rows, const std::int32_t* indices, std::int64_t begin, std::int64_t end, float* sums) const {
    const GatherExtent& e = extent_;
    for (std::int64_t block = begin / e.extent; block * e.extent < end; ++block) {
      const std::int32_t* numbers = indices + block / e.outer * e.picked;
      for (std::int64_t k = 0; k < e.picked; ++k) {
        if (numbers[k] < 0 || numbers[k] >= e.extent) continue;
        const std::int64_t row = block * e.extent + numbers[k];
        if (row < begin || row >= end) continue;
        float* sum = sums + row * e.inner;
        const T* from = rows + (block * e.picked + k) * e.inner;
        for_channels(e.inner, [&](std::int64_t c, auto access) {
          access.store(sum + c, access.load(sum + c) + access.load(from + c));
        });
      }
    }
  }

  TensorDesc output_;
  GatherExtent extent_;
};

}  // namespace

std::unique_ptr<Kernel> make_gather(const KernelContext& context) { return std::make_unique<GatherKernel>(context); }
std::unique_ptr<Kernel> make_scatter_add(const KernelContext& context) {
  return std::make_unique<ScatterAddKernel>(context);
}

}  // namespace ptrain::cpu
