// Products of matrices with a vector each, and their gradient.
#include "core/ops/tensor/matvec.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"
#include "core/ops/math/activation_math.h"

#include <algorithm>
#include <vector>

namespace ptrain::cpu {
namespace {

struct Relu {
  PTRAIN_INLINE static f32x16 apply(f32x16 x) {
    return by_registers([](auto v) { return activate<Activation::relu>(v); }, x);
  }
  /// `gradient` where x is positive.
  PTRAIN_INLINE static f32x16 filter(f32x16 x, f32x16 gradient) {
    return by_registers([](auto v, auto g) { return activation_gradient<Activation::relu>(g, v); }, x, gradient);
  }
};
struct Identity {
  PTRAIN_INLINE static f32x16 apply(f32x16 x) { return x; }
  PTRAIN_INLINE static f32x16 filter(f32x16, f32x16 gradient) { return gradient; }
};

/// Calls visit(T{}, activation) with the matrices' storage type and what is applied to them.
template <typename Visit>
void visit_form(DType dtype, bool relu, Visit&& visit) {
  visit_floating(dtype, [&](auto zero) { relu ? visit(zero, Relu{}) : visit(zero, Identity{}); });
}

class MatvecKernel final : public Kernel {
 public:
  explicit MatvecKernel(const KernelContext& context)
      : a_(context.inputs[Matvec::a]), relu_(context.op_as<Matvec>().attrs().relu) {}

  void run(const KernelArgs& args) override {
    visit_form(a_.dtype, relu_, [&](auto zero, auto activation) {
      using T = decltype(zero);
      const std::int64_t rows = a_.shape[1], columns = a_.shape[2];
      const auto* a = static_cast<const T*>(args.inputs[Matvec::a]);
      const auto* v = static_cast<const T*>(args.inputs[Matvec::v]);
      auto* y = static_cast<T*>(args.outputs[0]);
      parallel_for(a_.shape[0] * rows, std::max<std::int64_t>(1, (1 << 14) / columns),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row) {
                       const T *left = a + row * columns, *right = v + row / rows * columns;
                       f32x16 sum{};
                       for_channels(columns, [&](std::int64_t c, auto access) {
                         sum += activation.apply(access.load(left + c)) * access.load(right + c);
                       });
                       y[row] = static_cast<T>(total(sum));
                     }
                   });
    });
  }

 private:
  TensorDesc a_;
  bool relu_;
};

/// A thread has columns of a matrix of its own, so that da may take a's place.
class MatvecGradKernel final : public Kernel {
 public:
  using Op = MatvecGrad;

  explicit MatvecGradKernel(const KernelContext& context)
      : a_(context.inputs[Op::a]), relu_(context.op_as<Op>().attrs().relu) {}

  void run(const KernelArgs& args) override {
    visit_form(a_.dtype, relu_, [&](auto zero, auto activation) {
      using T = decltype(zero);
      const std::int64_t batch = a_.shape[0], rows = a_.shape[1], columns = a_.shape[2];
      const std::int64_t groups = (columns + lanes - 1) / lanes;
      const std::int64_t parts = std::min(groups, (thread_count() + batch - 1) / batch);  // of the columns
      parallel_for(batch * parts, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> sums(static_cast<std::size_t>(columns));
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t i = task / parts, part = task % parts, first = groups * part / parts * lanes;
          const std::int64_t count = std::min(columns, groups * (part + 1) / parts * lanes) - first;
          const std::int64_t at = i * rows * columns + first, vector = i * columns + first;
          add_rows(activation, count, static_cast<const T*>(args.inputs[Op::a]) + at,
                   static_cast<const T*>(args.inputs[Op::v]) + vector,
                   static_cast<const T*>(args.inputs[Op::dy]) + i * rows, sums.data(),
                   static_cast<T*>(args.outputs[Op::da]) + at);
          for_channels(count, [&](std::int64_t c, auto access) {
            access.store(static_cast<T*>(args.outputs[Op::dv]) + vector + c, access.load(sums.data() + c));
          });
        }
      });
    });
  }

 private:
  /// da, and dv's sums, of `count` columns.
  template <typename T, typename A>
  void add_rows(A activation, std::int64_t count, const T* a, const T* v, const T* dy, float* sums, T* da) const {
    const std::int64_t rows = a_.shape[1], columns = a_.shape[2];
    std::fill(sums, sums + count, 0.0f);
    for (std::int64_t row = 0; row < rows; ++row, a += columns, da += columns) {
      const auto factor = static_cast<float>(dy[row]);
      for_channels(count, [&](std::int64_t c, auto access) {
        const f32x16 x = access.load(a + c);
        access.store(sums + c, access.load(sums + c) + activation.apply(x) * factor);
        access.store(da + c, activation.filter(x, access.load(v + c) * factor));
      });
    }
  }

  TensorDesc a_;
  bool relu_;
};

}  // namespace

std::unique_ptr<Kernel> make_matvec(const KernelContext& context) { return std::make_unique<MatvecKernel>(context); }
std::unique_ptr<Kernel> make_matvec_grad(const KernelContext& context) {
  return std::make_unique<MatvecGradKernel>(context);
}

}  // namespace ptrain::cpu
