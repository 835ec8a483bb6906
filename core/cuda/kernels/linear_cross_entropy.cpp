// Chunk by chunk, as on the CPU: cuBLASLt's products around the kernels of softmax cross entropy.
#include "core/ops/linear_cross_entropy.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/check.h"
#include "core/cuda/kernels/softmax_cross_entropy.h"
#include "core/cuda/library/gemm.h"
#include "core/cuda/primitives/convert.h"
#include "core/ops/linear.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace ptrain::cuda {
namespace {

using KernelPtr = std::unique_ptr<Kernel>;
using Loss = LinearCrossEntropy;

/// A product of a chunk: one for whole chunks, and one for the last if it has fewer rows.
template <typename Product>
class ChunkProduct {
 public:
  template <typename Make>
  ChunkProduct(std::int64_t rows, std::int64_t chunk_rows, const Make& make)
      : whole_rows_(std::min(rows, chunk_rows)), whole_(make(whole_rows_)) {
    const std::int64_t in_last = (rows - 1) % chunk_rows + 1;
    if (in_last != whole_rows_) last_ = make(in_last);
  }

  Product& for_rows(std::int64_t rows) const { return rows == whole_rows_ ? *whole_ : *last_; }
  const Product& whole() const { return *whole_; }
  std::size_t workspace_bytes() const {
    return std::max(whole_->workspace_bytes(), last_ != nullptr ? last_->workspace_bytes() : 0);
  }

 private:
  std::int64_t whole_rows_;
  std::unique_ptr<Product> whole_, last_;
};

/// What the loss and its gradient have in common.
class ChunkLosses {
 public:
  ChunkLosses(const KernelContext& context, Device& device, const LinearCrossEntropyAttributes& attributes)
      : x_(context.inputs[Loss::x]),
        w_(context.inputs[Loss::w]),
        all_rows_(x_.count() / x_.shape[-1]),
        chunk_rows_(attributes.chunk_rows),
        rows_(device, all_rows_, classes(), attributes.label_smoothing),
        product_(make_product<Kernel>([&](std::int64_t rows) {
          const std::vector<TensorDesc> inputs{x_of(rows), w_}, outputs{{DType::f32, Shape{rows, classes()}}};
          const Linear op;
          return make_linear({op, inputs, outputs, context.options, context.search_cache, context.collectives}, device);
        })) {}

  template <typename Product, typename Make>
  ChunkProduct<Product> make_product(const Make& make) const {
    return ChunkProduct<Product>(all_rows_, chunk_rows_, make);
  }
  std::int64_t classes() const { return w_.shape[0]; }
  const TensorDesc& x() const { return x_; }
  const TensorDesc& w() const { return w_; }
  TensorDesc x_of(std::int64_t rows) const { return {x_.dtype, Shape{rows, x_.shape[-1]}}; }
  const SoftmaxLossRows& rows() const { return rows_; }
  const ChunkProduct<Kernel>& product() const { return product_; }

  /// The part of a tensor like x that begins at row `first`.
  void* at_row(void* like_x, std::int64_t first) const {
    const auto bytes = static_cast<std::size_t>(first * x_.shape[-1]) * element_size(x_.dtype);
    return static_cast<std::byte*>(like_x) + bytes;
  }

  template <typename Visit>
  void for_each_chunk(const Visit& visit) const {
    for (std::int64_t first = 0; first < all_rows_; first += chunk_rows_) {
      visit(RowRange{first, std::min(chunk_rows_, all_rows_ - first)});
    }
  }

  /// The losses of a chunk's rows, and their probabilities in place of the logits.
  void run_chunk(const RowRange& chunk, const KernelArgs& args, const MixedLabels& labels, void* product_workspace,
                 void* rows_workspace) const {
    void* const inputs[] = {at_row(args.inputs[Loss::x], chunk.first), args.inputs[Loss::w]};
    void* const outputs[] = {args.outputs[Loss::logits]};
    product_.for_rows(chunk.count).run({inputs, outputs, product_workspace});
    auto* logits = static_cast<float*>(args.outputs[Loss::logits]);
    rows_.add(chunk, DType::f32, logits, labels, logits, rows_workspace);
  }

 private:
  TensorDesc x_, w_;
  std::int64_t all_rows_, chunk_rows_;
  SoftmaxLossRows rows_;
  ChunkProduct<Kernel> product_;
};

MixedLabels get_plain_labels(const KernelArgs& args) {
  return {static_cast<const std::int32_t*>(args.inputs[Loss::labels])};
}

class LinearCrossEntropyKernel final : public Kernel {
 public:
  LinearCrossEntropyKernel(const KernelContext& context, Device& device)
      : losses_(context, device, context.op_as<Loss>().attrs()),
        rows_workspace_(layout_.take(losses_.rows().workspace_bytes())),
        product_workspace_(layout_.take(losses_.product().workspace_bytes())) {}

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override { return losses_.product().whole().record(); }

  void run(const KernelArgs& args) override {
    const MixedLabels labels = get_plain_labels(args);
    void* rows_workspace = rows_workspace_.in(args.workspace);
    losses_.for_each_chunk([&](const RowRange& chunk) {
      losses_.run_chunk(chunk, args, labels, product_workspace_.in(args.workspace), rows_workspace);
    });
    losses_.rows().finish(labels, static_cast<float*>(args.outputs[Loss::loss]), rows_workspace);
  }

 private:
  ChunkLosses losses_;
  WorkspaceLayout layout_;
  WorkspacePart rows_workspace_, product_workspace_;
};

class LinearCrossEntropyGradKernel final : public Kernel {
  using Op = LinearCrossEntropyGrad;

 public:
  LinearCrossEntropyGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<Op>().attrs()),
        slots_(context.op_as<Op>().slots(context.inputs[Op::x].dtype)),
        losses_(context, device, attributes_.loss) {
    const TensorDesc &x = losses_.x(), &w = losses_.w();
    if (slots_.dx >= 0) {
      dx_product_.emplace(losses_.make_product<Kernel>([&](std::int64_t rows) {
        const std::vector<TensorDesc> inputs{{x.dtype, Shape{rows, losses_.classes()}}, w}, outputs{losses_.x_of(rows)};
        const LinearGradInput op;
        return make_linear_grad_input({op, inputs, outputs, context.options, context.search_cache, context.collectives},
                                      device);
      }));
    }
    if (slots_.dw >= 0) {
      dw_product_.emplace(losses_.make_product<Gemm>([&](std::int64_t rows) {
        MatrixProduct product;
        product.rows = w.shape[0];
        product.columns = w.shape[1];
        product.inner = rows;
        product.left_transposed = true;  // the gradient of the logits is stored as [inner,rows]
        product.in = x.dtype;
        product.adds = true;
        return Gemm::make_plain(context, device, product);
      }));
    }
    rows_workspace_ = layout_.take(losses_.rows().workspace_bytes());
    std::size_t products = losses_.product().workspace_bytes();
    if (dx_product_) products = std::max(products, dx_product_->workspace_bytes());
    if (dw_product_) products = std::max(products, dw_product_->workspace_bytes());
    product_workspace_ = layout_.take(products);
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  KernelRecord record() const override {
    std::string text = losses_.product().whole().record().implementation;
    if (dx_product_) text += " + " + dx_product_->whole().record().implementation;
    if (dw_product_) text += " + " + dw_product_->whole().implementation();
    return {text};
  }

  void run(const KernelArgs& args) override {
    const MixedLabels labels = get_plain_labels(args);
    void *rows_workspace = rows_workspace_.in(args.workspace), *workspace = product_workspace_.in(args.workspace);
    const SoftmaxLossRows& rows = losses_.rows();
    void* dlogits = args.outputs[static_cast<std::size_t>(slots_.dlogits >= 0 ? slots_.dlogits : Op::logits)];
    if (dw_product_) CUDA_CHECK(cudaMemsetAsync(get_sums(args), 0, sums_bytes(), device_.stream()));
    rows.start_gradient(labels, static_cast<const float*>(args.inputs[Op::dloss]), rows_workspace);
    losses_.for_each_chunk([&](const RowRange& chunk) {
      losses_.run_chunk(chunk, args, labels, workspace, rows_workspace);
      rows.differentiate(chunk, static_cast<const float*>(args.outputs[Op::logits]), labels, losses_.x().dtype, dlogits,
                         rows_workspace);
      run_products(chunk, args, dlogits, workspace);
    });
    rows.finish(labels, static_cast<float*>(args.outputs[Op::loss]), rows_workspace);
    if (slots_.sums >= 0) {
      convert(device_, DType::f32, get_sums(args), *attributes_.dw, args.outputs[static_cast<std::size_t>(slots_.dw)],
              losses_.w().count());
    }
  }

 private:
  /// Where the chunks add up dw.
  void* get_sums(const KernelArgs& args) const {
    return args.outputs[static_cast<std::size_t>(slots_.sums >= 0 ? slots_.sums : slots_.dw)];
  }
  std::size_t sums_bytes() const { return static_cast<std::size_t>(losses_.w().count()) * sizeof(float); }

  void run_products(const RowRange& chunk, const KernelArgs& args, void* dlogits, void* workspace) const {
    if (dx_product_) {
      void* const inputs[] = {dlogits, args.inputs[Op::w]};
      void* const outputs[] = {losses_.at_row(args.outputs[static_cast<std::size_t>(slots_.dx)], chunk.first)};
      dx_product_->for_rows(chunk.count).run({inputs, outputs, workspace});
    }
    if (dw_product_) {
      const void* x = losses_.at_row(args.inputs[Op::x], chunk.first);
      dw_product_->for_rows(chunk.count).run({dlogits, x, get_sums(args)}, workspace);
    }
  }

  Device& device_;
  LinearCrossEntropyGradAttributes attributes_;
  LinearCrossEntropyGrad::Slots slots_;
  ChunkLosses losses_;
  std::optional<ChunkProduct<Kernel>> dx_product_;
  std::optional<ChunkProduct<Gemm>> dw_product_;
  WorkspaceLayout layout_;
  WorkspacePart rows_workspace_, product_workspace_;
};

}  // namespace

std::unique_ptr<Kernel> make_linear_cross_entropy(const KernelContext& context, Device& device) {
  return std::make_unique<LinearCrossEntropyKernel>(context, device);
}
std::unique_ptr<Kernel> make_linear_cross_entropy_grad(const KernelContext& context, Device& device) {
  return std::make_unique<LinearCrossEntropyGradKernel>(context, device);
}

}  // namespace ptrain::cuda
