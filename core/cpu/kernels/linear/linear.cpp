#include "core/ops/linear.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/implementation_search.h"
#include "core/cpu/kernels/conv2d/weight_gradient_by_taps.h"
#include "core/cpu/kernels/linear/activation_gradient_sums.h"
#include "core/cpu/kernels/linear/linear_candidates.h"
#include "core/cpu/simd/convert.h"
#include "core/ops/math/activation_math.h"

#include <optional>

namespace ptrain::cpu {
namespace {

class LinearKernel final : public Kernel {
  using Op = Linear;

 public:
  explicit LinearKernel(const KernelContext& context)
      : attributes_(context.op_as<Linear>().attrs()), y_(context.outputs[0]) {
    const TensorDesc& x = context.inputs[Op::x];
    const TensorDesc& w = context.inputs[Op::w];
    LinearProblem problem{x.count() / w.shape[1], w.shape[1], w.shape[0], x.dtype, w.dtype, y_.dtype};
    problem.has_bias = has_input(context.inputs, Linear::bias);
    if (problem.has_bias) problem.bias = context.inputs[Op::bias].dtype;
    if (context.options.constant_weights) problem.weights = Constancy::constant;
    const Activation fused = attributes_.save_pre ? Activation::none : attributes_.activation;
    operation_ = choose_kernel(context, linear_candidates(problem, fused, attributes_.save_pre ? 1 : 0));
  }

  void weights_changed(ConstantStore& kept) override { operation_->weights_changed(kept); }
  std::size_t workspace_bytes() const override { return operation_->workspace_bytes(); }
  KernelRecord record() const override { return {operation_->record().implementation}; }

  void run(const KernelArgs& args) override {
    operation_->run(args);
    if (attributes_.save_pre) apply_activation(args.outputs[1], args.outputs[0]);
  }

 private:
  void apply_activation(const void* from, void* to) const {
    visit_activation(attributes_.activation, [&](auto kind) {
      visit_floating(y_.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto* pre = static_cast<const T*>(from);
        auto* y = static_cast<T*>(to);
        parallel_for(y_.count(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
          map_run(
              begin, end, y, [](float v) { return activate<decltype(kind)::value>(v); }, pre);
        });
      });
    });
  }

  LinearAttributes attributes_;
  TensorDesc y_;
  std::unique_ptr<Kernel> operation_;
};

class LinearGradInputKernel final : public Kernel {
  using Op = LinearGradInput;

 public:
  explicit LinearGradInputKernel(const KernelContext& context) {
    const LinearGradInputAttributes& attributes = context.op_as<LinearGradInput>().attrs();
    const TensorDesc& dy = context.inputs[Op::dy];
    const TensorDesc& w = context.inputs[Op::w];
    const TensorDesc& dx = context.outputs[0];
    const LinearProblem problem{dy.count() / w.shape[0], w.shape[1], w.shape[0], dx.dtype, w.dtype, dy.dtype};
    operation_ = choose_kernel(context, linear_grad_input_candidates(problem));
    if (attributes.activation == Activation::none) return;
    if (attributes.bias) {
      activation_and_bias_.emplace(attributes.activation, dx, *attributes.bias);
    } else {
      const ActivationGrad op(attributes.activation);
      const std::vector<TensorDesc> inputs{context.inputs[Op::saved], dx};
      activation_ = make_activation_grad({op, inputs, context.outputs, context.options});
    }
  }

  std::size_t workspace_bytes() const override {
    const std::size_t sums = activation_and_bias_ ? activation_and_bias_->workspace_bytes() : 0;
    return std::max(operation_->workspace_bytes(), sums);
  }
  KernelRecord record() const override { return {operation_->record().implementation}; }

  void run(const KernelArgs& args) override {
    operation_->run(args);
    void* dx = args.outputs[0];
    if (activation_and_bias_) activation_and_bias_->run(args.inputs[Op::saved], dx, args.outputs[1], args.workspace);
    if (activation_ != nullptr) {
      void* const inputs[] = {args.inputs[Op::saved], dx};
      activation_->run({inputs, args.outputs, nullptr});
    }
  }

 private:
  std::unique_ptr<Kernel> operation_;
  // At most one of these follows the product, in place.
  std::optional<ActivationGradientSums> activation_and_bias_;
  std::unique_ptr<Kernel> activation_;
};

/// Takes the rows as pixels of one image, and the layer as a convolution with one tap. For bf16, where oneDNN is
/// slower.
KernelPtr weight_gradient_by_taps(const LinearProblem& p, const TensorDesc& dw) {
  if (p.x != DType::bf16 || p.y != DType::bf16) return nullptr;
  const WeightGradientProblem problem{{1, 1, p.rows, p.in}, {1, 1, p.rows, p.out}, {dw.dtype, {p.out, 1, 1, p.in}}, {}};
  return make_weight_gradient_by_taps(problem, p.x);
}

/// db[c] = sum over rows of dy[r][c], in row order; each thread has a range of columns.
template <typename D, typename B>
void sum_rows(const D* dy, std::int64_t rows, std::int64_t columns, B* db) {
  constexpr std::int64_t block = 256;
  parallel_for((columns + block - 1) / block, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c0 = begin * block; c0 < std::min(columns, end * block); c0 += block) {
      const std::int64_t width = std::min(block, columns - c0);
      float sums[block] = {};
      for (std::int64_t r = 0; r < rows; ++r) {
        const D* row = dy + r * columns + c0;
        for (std::int64_t c = 0; c < width; ++c) sums[c] += static_cast<float>(row[c]);
      }
      for (std::int64_t c = 0; c < width; ++c) db[c0 + c] = B(sums[c]);
    }
  });
}

class LinearGradWeightKernel final : public Kernel {
  using Op = LinearGradWeight;

 public:
  explicit LinearGradWeightKernel(const KernelContext& context) : dy_(context.inputs[Op::dy]) {
    const TensorDesc& x = context.inputs[Op::x];
    const TensorDesc& dw = context.outputs[0];
    const LinearProblem problem{x.count() / x.shape[-1], x.shape[-1], dw.shape[0], x.dtype, dw.dtype, dy_.dtype};
    if (context.outputs.size() > 1) db_dtype_ = context.outputs[1].dtype;
    std::vector<KernelPtr> candidates = linear_grad_weight_candidates(problem);
    if (auto kernel = weight_gradient_by_taps(problem, dw)) candidates.insert(candidates.begin(), std::move(kernel));
    operation_ = choose_kernel(context, std::move(candidates));
  }

  std::size_t workspace_bytes() const override { return operation_->workspace_bytes(); }
  KernelRecord record() const override { return {operation_->record().implementation}; }

  void run(const KernelArgs& args) override {
    operation_->run(args);
    if (args.outputs.size() < 2) return;
    const std::int64_t columns = dy_.shape[-1];
    visit_floating(dy_.dtype, [&](auto dy_zero) {
      visit_floating(db_dtype_, [&](auto db_zero) {
        sum_rows(static_cast<const decltype(dy_zero)*>(args.inputs[Op::dy]), dy_.count() / columns, columns,
                 static_cast<decltype(db_zero)*>(args.outputs[1]));
      });
    });
  }

 private:
  TensorDesc dy_;
  DType db_dtype_ = DType::f32;
  std::unique_ptr<Kernel> operation_;
};

}  // namespace

std::unique_ptr<Kernel> make_linear(const KernelContext& context) { return std::make_unique<LinearKernel>(context); }
std::unique_ptr<Kernel> make_linear_grad_input(const KernelContext& context) {
  return std::make_unique<LinearGradInputKernel>(context);
}
std::unique_ptr<Kernel> make_linear_grad_weight(const KernelContext& context) {
  return std::make_unique<LinearGradWeightKernel>(context);
}

}  // namespace ptrain::cpu
