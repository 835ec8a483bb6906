// Chunk by chunk: the product of a chunk's logits, its rows' softmax, loss and gradient, and the products of the
// gradient.
#include "core/ops/linear_cross_entropy.h"

#include "core/base/parallel.h"
#include "core/base/round_up.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/implementation_search.h"
#include "core/cpu/kernels/linear/linear_candidates.h"
#include "core/cpu/kernels/softmax_cross_entropy_rows.h"
#include "core/cpu/simd/convert.h"
#include "core/ops/linear.h"

#include <functional>

namespace ptrain::cpu {
namespace {

/// The division of rows into chunks.
struct RowChunks {
  std::int64_t rows = 0, per_chunk = 0;

  std::int64_t rows_in_last() const { return (rows - 1) % per_chunk + 1; }
  /// Calls visit(first row, rows) for each chunk, in order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::int64_t first = 0; first < rows; first += per_chunk) visit(first, std::min(per_chunk, rows - first));
  }
};

/// A product of a chunk: a kernel for whole chunks, and one for the last if it has fewer rows.
class ChunkProduct {
 public:
  using Make = std::function<KernelPtr(std::int64_t rows)>;
  ChunkProduct(const RowChunks& chunks, const Make& make) : whole_rows_(std::min(chunks.rows, chunks.per_chunk)) {
    whole_ = make(whole_rows_);
    if (chunks.rows_in_last() != whole_rows_) last_ = make(chunks.rows_in_last());
  }

  void run(std::int64_t rows, const KernelArgs& args) { (rows == whole_rows_ ? whole_ : last_)->run(args); }
  std::size_t workspace_bytes() const {
    return std::max(whole_->workspace_bytes(), last_ != nullptr ? last_->workspace_bytes() : 0);
  }
  void weights_changed(ConstantStore& kept) {
    whole_->weights_changed(kept);
    if (last_ != nullptr) last_->weights_changed(kept);
  }
  std::string implementation() const { return whole_->record().implementation; }

 private:
  std::int64_t whole_rows_;
  KernelPtr whole_, last_;
};

using Loss = LinearCrossEntropy;

/// What the loss and its gradient have in common: the logits and losses of chunks.
class ChunkLosses {
 public:
  ChunkLosses(const KernelContext& context, const LinearCrossEntropyAttributes& attributes)
      : x_(context.inputs[Loss::x]),
        w_(context.inputs[Loss::w]),
        chunks_{x_.count() / x_.shape[-1], attributes.chunk_rows},
        logits_product_(chunks_, [&](std::int64_t rows) {
          const std::vector<TensorDesc> inputs{x_of(rows), w_}, outputs{{DType::f32, Shape{rows, classes()}}};
          const Linear op;
          return make_linear({op, inputs, outputs, context.options, context.search_cache, context.collectives});
        }) {}

  const RowChunks& chunks() const { return chunks_; }
  std::int64_t classes() const { return w_.shape[0]; }
  const TensorDesc& x() const { return x_; }
  const TensorDesc& w() const { return w_; }
  TensorDesc x_of(std::int64_t rows) const { return {x_.dtype, Shape{rows, x_.shape[-1]}}; }
  /// The part of a tensor like x that begins at row `first`.
  void* at_row(void* like_x, std::int64_t first) const {
    const auto bytes = static_cast<std::size_t>(first * x_.shape[-1]) * element_size(x_.dtype);
    return static_cast<std::byte*>(like_x) + bytes;
  }

  void compute_logits(const KernelArgs& args, std::int64_t first, std::int64_t rows, void* product_workspace) {
    void* const inputs[] = {at_row(args.inputs[Loss::x], first), args.inputs[Loss::w]};
    void* const outputs[] = {args.outputs[Loss::logits]};
    logits_product_.run(rows, {inputs, outputs, product_workspace});
  }
  ChunkProduct& product() { return logits_product_; }
  const ChunkProduct& product() const { return logits_product_; }

  /// The losses of all rows come first in the workspace.
  std::size_t losses_bytes() const {
    constexpr std::size_t alignment = 64;
    return round_up(static_cast<std::size_t>(chunks_.rows) * sizeof(float), alignment);
  }
  float mean(const float* losses, const MixedLabels& labels) const {
    double total = 0;
    for (std::int64_t r = 0; r < chunks_.rows; ++r) total += static_cast<double>(losses[r]);
    return static_cast<float>(total / count_rows(labels, chunks_.rows));
  }

 private:
  TensorDesc x_, w_;
  RowChunks chunks_;
  ChunkProduct logits_product_;
};

class LinearCrossEntropyKernel final : public Kernel {
 public:
  explicit LinearCrossEntropyKernel(const KernelContext& context)
      : smoothing_(context.op_as<Loss>().attrs().label_smoothing), losses_(context, context.op_as<Loss>().attrs()) {}

  std::size_t workspace_bytes() const override { return losses_.losses_bytes() + losses_.product().workspace_bytes(); }
  void weights_changed(ConstantStore& kept) override { losses_.product().weights_changed(kept); }
  KernelRecord record() const override { return {losses_.product().implementation()}; }

  void run(const KernelArgs& args) override {
    const MixedLabels labels{static_cast<const std::int32_t*>(args.inputs[Loss::labels])};
    auto* losses = static_cast<float*>(args.workspace);
    void* rest = static_cast<std::byte*>(args.workspace) + losses_.losses_bytes();
    auto* logits = static_cast<float*>(args.outputs[Loss::logits]);
    const std::int64_t classes = losses_.classes();
    losses_.chunks().for_each([&](std::int64_t first, std::int64_t rows) {
      losses_.compute_logits(args, first, rows, rest);
      parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          float* row = logits + r * classes;
          losses[first + r] = softmax_row(row, classes, labels, first + r, smoothing_, row);
        }
      });
    });
    *static_cast<float*>(args.outputs[Loss::loss]) = losses_.mean(losses, labels);
  }

 private:
  float smoothing_;
  ChunkLosses losses_;
};

class LinearCrossEntropyGradKernel final : public Kernel {
  using Op = LinearCrossEntropyGrad;

 public:
  explicit LinearCrossEntropyGradKernel(const KernelContext& context)
      : attributes_(context.op_as<Op>().attrs()),
        slots_(context.op_as<Op>().slots(context.inputs[Op::x].dtype)),
        losses_(context, attributes_.loss) {
    const TensorDesc &x = losses_.x(), &w = losses_.w();
    const auto dlogits = [&](std::int64_t rows) { return TensorDesc{x.dtype, Shape{rows, losses_.classes()}}; };
    if (slots_.dx >= 0) {
      dx_product_.emplace(losses_.chunks(), [&](std::int64_t rows) {
        const std::vector<TensorDesc> inputs{dlogits(rows), w}, outputs{losses_.x_of(rows)};
        const LinearGradInput op;
        return make_linear_grad_input(
            {op, inputs, outputs, context.options, context.search_cache, context.collectives});
      });
    }
    if (slots_.dw >= 0) {
      dw_product_.emplace(losses_.chunks(), [&](std::int64_t rows) {
        const std::vector<TensorDesc> inputs{losses_.x_of(rows), dlogits(rows)}, outputs{{DType::f32, w.shape}};
        const LinearProblem problem{rows, w.shape[1], w.shape[0], x.dtype, DType::f32, x.dtype};
        return choose_kernel({context.op, inputs, outputs, context.options, context.search_cache, context.collectives},
                             linear_weight_sum_candidates(problem));
      });
    }
  }

  std::size_t workspace_bytes() const override {
    std::size_t products = losses_.product().workspace_bytes();
    for (const auto* product : {&dx_product_, &dw_product_}) {
      if (*product) products = std::max(products, (*product)->workspace_bytes());
    }
    return losses_.losses_bytes() + products;
  }
  void weights_changed(ConstantStore& kept) override {
    losses_.product().weights_changed(kept);
    if (dx_product_) dx_product_->weights_changed(kept);
  }
  KernelRecord record() const override {
    std::string text = losses_.product().implementation();
    if (dx_product_) text += " + " + dx_product_->implementation();
    if (dw_product_) text += " + " + dw_product_->implementation();
    return {text};
  }

  void run(const KernelArgs& args) override {
    const MixedLabels labels{static_cast<const std::int32_t*>(args.inputs[Op::labels])};
    const float dloss = *static_cast<const float*>(args.inputs[Op::dloss]);
    const std::int64_t classes = losses_.classes();
    const GradientFactors factors =
        compute_gradient_factors(labels, losses_.chunks().rows, classes, attributes_.loss.label_smoothing, dloss);
    auto* losses = static_cast<float*>(args.workspace);
    void* rest = static_cast<std::byte*>(args.workspace) + losses_.losses_bytes();
    void* dlogits = args.outputs[static_cast<std::size_t>(slots_.dlogits >= 0 ? slots_.dlogits : Op::logits)];
    start_sums(args);
    losses_.chunks().for_each([&](std::int64_t first, std::int64_t rows) {
      losses_.compute_logits(args, first, rows, rest);
      differentiate_rows(static_cast<float*>(args.outputs[Op::logits]), dlogits, labels, factors, first, rows, losses);
      run_products(args, first, rows, dlogits, rest);
    });
    *static_cast<float*>(args.outputs[Op::loss]) = losses_.mean(losses, labels);
    if (slots_.sums >= 0) {
      convert(DType::f32, sums(args), *attributes_.dw, args.outputs[static_cast<std::size_t>(slots_.dw)],
              losses_.w().count());
    }
  }

 private:
  /// Where the chunks add up dw.
  void* sums(const KernelArgs& args) const {
    return args.outputs[static_cast<std::size_t>(slots_.sums >= 0 ? slots_.sums : slots_.dw)];
  }

  void start_sums(const KernelArgs& args) const {
    if (slots_.dw < 0) return;
    auto* values = static_cast<float*>(sums(args));
    parallel_for(losses_.w().count(), 1 << 14,
                 [&](std::int64_t begin, std::int64_t end) { std::fill(values + begin, values + end, 0.0f); });
  }

  /// Of a chunk's rows: the losses, and the gradient of the logits while their probabilities are in the cache.
  void differentiate_rows(float* logits, void* dlogits, const MixedLabels& labels, const GradientFactors& factors,
                          std::int64_t first, std::int64_t rows, float* losses) const {
    const std::int64_t classes = losses_.classes();
    visit_floating(losses_.x().dtype, [&](auto zero) {
      auto* gradients = static_cast<decltype(zero)*>(dlogits);
      parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          float* row = logits + r * classes;
          losses[first + r] = softmax_row(row, classes, labels, first + r, factors.smoothing, row);
          softmax_gradient_row(row, classes, labels, first + r, factors, gradients + r * classes);
        }
      });
    });
  }

  void run_products(const KernelArgs& args, std::int64_t first, std::int64_t rows, void* dlogits, void* workspace) {
    if (dx_product_) {
      void* const inputs[] = {dlogits, args.inputs[Op::w]};
      void* const outputs[] = {losses_.at_row(args.outputs[static_cast<std::size_t>(slots_.dx)], first)};
      dx_product_->run(rows, {inputs, outputs, workspace});
    }
    if (dw_product_) {
      void* const inputs[] = {losses_.at_row(args.inputs[Op::x], first), dlogits};
      void* const outputs[] = {sums(args)};
      dw_product_->run(rows, {inputs, outputs, workspace});
    }
  }

  LinearCrossEntropyGradAttributes attributes_;
  LinearCrossEntropyGrad::Slots slots_;
  ChunkLosses losses_;
  std::optional<ChunkProduct> dx_product_, dw_product_;
};

}  // namespace

std::unique_ptr<Kernel> make_linear_cross_entropy(const KernelContext& context) {
  return std::make_unique<LinearCrossEntropyKernel>(context);
}
std::unique_ptr<Kernel> make_linear_cross_entropy_grad(const KernelContext& context) {
  return std::make_unique<LinearCrossEntropyGradKernel>(context);
}

}  // namespace ptrain::cpu
