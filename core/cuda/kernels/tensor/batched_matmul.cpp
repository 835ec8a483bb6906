// Batched products by cuBLASLt.
#include "core/ops/tensor/batched_matmul.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/library/gemm.h"

namespace ptrain::cuda {
namespace {

MatrixProduct make_product(const KernelContext& context) {
  const BatchedMatmulAttributes& attributes = context.op_as<BatchedMatmul>().attrs();
  const BatchedMatmulExtent e =
      batched_matmul_extent(attributes, context.inputs[BatchedMatmul::a].shape, context.inputs[BatchedMatmul::b].shape);
  MatrixProduct product;
  product.rows = e.rows;
  product.columns = e.columns;
  product.inner = e.inner;
  product.left_transposed = attributes.a == Orientation::transposed;
  product.right_transposed = attributes.b == Orientation::transposed;
  product.in = product.out = context.outputs[0].dtype;
  product.batch = e.batch;
  return product;
}

class BatchedMatmulKernel final : public Kernel {
 public:
  BatchedMatmulKernel(const KernelContext& context, Device& device)
      : gemm_(Gemm::make_plain(context, device, make_product(context))) {}

  std::size_t workspace_bytes() const override { return gemm_->workspace_bytes(); }
  KernelRecord record() const override { return {gemm_->implementation()}; }

  void run(const KernelArgs& args) override {
    gemm_->run({args.inputs[BatchedMatmul::a], args.inputs[BatchedMatmul::b], args.outputs[0]}, args.workspace);
  }

 private:
  std::unique_ptr<Gemm> gemm_;
};

}  // namespace

std::unique_ptr<Kernel> make_batched_matmul(const KernelContext& context, Device& device) {
  return std::make_unique<BatchedMatmulKernel>(context, device);
}

}  // namespace ptrain::cuda
