#include "core/ops/tensor/select.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/tensor/strided_runs.h"
#include "core/ops/math/comparison.h"
#include "core/ops/tensor/broadcast.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t elements_a_task = 1 << 13;

/// Calls body(first, count) on runs of at most run_length of `total` elements, on all threads.
template <typename Body>
void for_runs(std::int64_t total, Body&& body) {
  parallel_for(total, elements_a_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += run_length) body(first, std::min(run_length, end - first));
  });
}

class CompareKernel final : public Kernel {
 public:
  explicit CompareKernel(const KernelContext& context)
      : attributes_(context.op_as<Compare>().attrs()),
        dtype_(context.inputs[Compare::a].dtype),
        count_(context.outputs[0].count()),
        a_(broadcast_index(context.inputs[Compare::a].shape, context.outputs[0].shape)) {
    if (has_input(context.inputs, Compare::b)) {
      b_ = broadcast_index(context.inputs[Compare::b].shape, context.outputs[0].shape);
    }
  }

  void run(const KernelArgs& args) override {
    if (dtype_ == DType::i32) {
      run_as<std::int32_t, std::int32_t>(args);
    } else {
      visit_floating(dtype_, [&](auto zero) { run_as<decltype(zero), float>(args); });
    }
  }

 private:
  /// Elements of type T are compared as V.
  template <typename T, typename V>
  void run_as(const KernelArgs& args) const {
    const auto* a = static_cast<const T*>(args.inputs[Compare::a]);
    const auto* b = args.inputs.size() > Compare::b ? static_cast<const T*>(args.inputs[Compare::b]) : nullptr;
    auto* mask = static_cast<std::uint8_t*>(args.outputs[0]);
    visit_comparison(attributes_.comparison, [&](auto comparison) {
      for_runs(count_, [&](std::int64_t first, std::int64_t count) {
        V left[run_length], right[run_length];
        load_run(a_, a, first, count, left);
        if (b != nullptr) {
          load_run(b_, b, first, count, right);
        } else {
          std::fill_n(right, count, static_cast<V>(attributes_.constant));
        }
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
          mask[first + i] = holds<decltype(comparison)::value>(left[i], right[i]) ? 1 : 0;
        }
      });
    });
  }

  CompareAttributes attributes_;
  DType dtype_;
  std::int64_t count_;
  StridedIndex a_, b_;
};

class WhereKernel final : public Kernel {
 public:
  explicit WhereKernel(const KernelContext& context)
      : attributes_(context.op_as<Where>().attrs()), output_(context.outputs[0]) {
    for (int i = Where::mask; i <= Where::b; ++i) {
      if (has_input(context.inputs, i) || i == Where::mask) {
        indices_[i] = broadcast_index(context.inputs[static_cast<std::size_t>(i)].shape, output_.shape);
      }
    }
  }

  void run(const KernelArgs& args) override {
    if (output_.dtype == DType::i32) {
      run_as<std::int32_t>(args);
    } else {
      visit_floating(output_.dtype, [&](auto zero) { run_as<decltype(zero)>(args); });
    }
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    for_runs(output_.count(), [&](std::int64_t first, std::int64_t count) {
      std::uint8_t mask[run_length];
      T a[run_length], b[run_length];
      load_run(indices_[Where::mask], static_cast<const std::uint8_t*>(args.inputs[Where::mask]), first, count, mask);
      load(args, Where::a, T(attributes_.if_true), first, count, a);
      load(args, Where::b, T(attributes_.if_false), first, count, b);
      T* y = static_cast<T*>(args.outputs[0]) + first;
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) y[i] = mask[i] != 0 ? a[i] : b[i];
    });
  }

  template <typename T>
  void load(const KernelArgs& args, int input, T otherwise, std::int64_t first, std::int64_t count, T* to) const {
    const auto i = static_cast<std::size_t>(input);
    if (i < args.inputs.size() && args.inputs[i] != nullptr) {
      load_run(indices_[input], static_cast<const T*>(args.inputs[i]), first, count, to);
    } else {
      std::fill_n(to, count, otherwise);
    }
  }

  WhereAttributes attributes_;
  TensorDesc output_;
  StridedIndex indices_[Where::b + 1];
};

}  // namespace

std::unique_ptr<Kernel> make_compare(const KernelContext& context) { return std::make_unique<CompareKernel>(context); }
std::unique_ptr<Kernel> make_where(const KernelContext& context) { return std::make_unique<WhereKernel>(context); }

}  // namespace ptrain::cpu
