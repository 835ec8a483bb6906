// oneDNN's matmul, which reads either operand transposed.
#include "core/ops/tensor/batched_matmul.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/onednn/onednn_operation.h"

namespace ptrain::cpu {
namespace {

using dnnl::memory;

/// [batch, rows, columns], in memory order `orientation`.
memory::desc matrices(DType dtype, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                      Orientation orientation) {
  const auto tag = orientation == Orientation::plain ? memory::format_tag::abc : memory::format_tag::acb;
  return {{batch, rows, columns}, compute_type(dtype), tag};
}

}  // namespace

std::unique_ptr<Kernel> make_batched_matmul(const KernelContext& context) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const BatchedMatmulAttributes& attributes = context.op_as<BatchedMatmul>().attrs();
  const DType dtype = context.outputs[0].dtype;
  const BatchedMatmulExtent e =
      batched_matmul_extent(attributes, context.inputs[BatchedMatmul::a].shape, context.inputs[BatchedMatmul::b].shape);
  const memory::desc a = matrices(dtype, e.batch, e.rows, e.inner, attributes.a);
  const memory::desc b = matrices(dtype, e.batch, e.inner, e.columns, attributes.b);
  const memory::desc y = matrices(dtype, e.batch, e.rows, e.columns, Orientation::plain);
  const auto desc = forward_desc<dnnl::matmul>(engine, user_scratchpad(), a, b, y);
  const std::vector<Binding> inputs{{DNNL_ARG_SRC, BatchedMatmul::a, dtype, a, a},
                                    {DNNL_ARG_WEIGHTS, BatchedMatmul::b, dtype, b, b}};
  return std::make_unique<OnednnOperation>(engine, dnnl::matmul(desc), desc.scratchpad_desc(), inputs,
                                           std::vector<Binding>{{DNNL_ARG_DST, 0, dtype, y, y}},
                                           std::string("matmul:") + desc.impl_info_str());
}

}  // namespace ptrain::cpu
