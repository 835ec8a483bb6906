// One thread per element of the result.
#include "core/ops/tensor/select.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/comparison.h"
#include "core/ops/tensor/broadcast.h"

namespace ptrain::cuda {
namespace {

/// The operand's element at `i`, or the constant that replaces an absent operand.
template <typename T, typename V>
struct Selected {
  const T* from;
  StridedIndex index;
  V otherwise;

  __device__ V at(std::int64_t i) const {
    if (from == nullptr) return otherwise;
    if constexpr (std::is_same_v<T, V>) {
      return from[index.offset(i)];
    } else {
      return to_float(from[index.offset(i)]);
    }
  }
};

template <Comparison comparison, typename T, typename V>
__global__ void __launch_bounds__(block_threads)
    compare_kernel(std::int64_t count, Selected<T, V> a, Selected<T, V> b, std::uint8_t* mask) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) mask[i] = holds<comparison>(a.at(i), b.at(i));
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    where_kernel(std::int64_t count, Selected<std::uint8_t, std::uint8_t> mask, Selected<T, T> a, Selected<T, T> b,
                 T* y) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) y[i] = mask.at(i) != 0 ? a.at(i) : b.at(i);
}

StridedIndex make_index(const KernelContext& context, int input) {
  if (!has_input(context.inputs, input)) return {};
  return broadcast_index(context.inputs[static_cast<std::size_t>(input)].shape, context.outputs[0].shape);
}

template <typename T>
const T* get_input(const KernelArgs& args, std::size_t input) {
  return input < args.inputs.size() ? static_cast<const T*>(args.inputs[input]) : nullptr;
}

class CompareKernel final : public Kernel {
 public:
  CompareKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<Compare>().attrs()),
        dtype_(context.inputs[Compare::a].dtype),
        count_(context.outputs[0].count()),
        a_(make_index(context, Compare::a)),
        b_(make_index(context, Compare::b)) {}

  void run(const KernelArgs& args) override {
    if (dtype_ == DType::i32) {
      run_as<std::int32_t, std::int32_t>(args);
    } else {
      visit_floating(dtype_, [&](auto zero) { run_as<decltype(zero), float>(args); });
    }
  }

 private:
  template <typename T, typename V>
  void run_as(const KernelArgs& args) const {
    const auto constant = static_cast<V>(attributes_.constant);
    const Selected<T, V> a{get_input<T>(args, Compare::a), a_, constant},
        b{get_input<T>(args, Compare::b), b_, constant};
    visit_comparison(attributes_.comparison, [&](auto comparison) {
      launch(compare_kernel<decltype(comparison)::value, T, V>, grid_blocks(device_, count_), block_threads, device_,
             count_, a, b, static_cast<std::uint8_t*>(args.outputs[0]));
    });
  }

  Device& device_;
  CompareAttributes attributes_;
  DType dtype_;
  std::int64_t count_;
  StridedIndex a_, b_;
};

class WhereKernel final : public Kernel {
 public:
  WhereKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<Where>().attrs()),
        output_(context.outputs[0]),
        mask_(broadcast_index(context.inputs[Where::mask].shape, output_.shape)),
        a_(make_index(context, Where::a)),
        b_(make_index(context, Where::b)) {}

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
    launch(where_kernel<T>, grid_blocks(device_, output_.count()), block_threads, device_, output_.count(),
           Selected<std::uint8_t, std::uint8_t>{get_input<std::uint8_t>(args, Where::mask), mask_, 0},
           Selected<T, T>{get_input<T>(args, Where::a), a_, T(attributes_.if_true)},
           Selected<T, T>{get_input<T>(args, Where::b), b_, T(attributes_.if_false)}, static_cast<T*>(args.outputs[0]));
  }

  Device& device_;
  WhereAttributes attributes_;
  TensorDesc output_;
  StridedIndex mask_, a_, b_;
};

}  // namespace

std::unique_ptr<Kernel> make_compare(const KernelContext& context, Device& device) {
  return std::make_unique<CompareKernel>(context, device);
}
std::unique_ptr<Kernel> make_where(const KernelContext& context, Device& device) {
  return std::make_unique<WhereKernel>(context, device);
}

}  // namespace ptrain::cuda
