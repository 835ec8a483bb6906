// Convolution through oneDNN; the weights are converted to the primitive's layout and dtype in the workspace.
#include "core/ops/image/conv2d.h"

#include "core/cpu/kernel_search.h"
#include "core/cpu/kernels.h"
#include "core/cpu/kernels/conv2d/convolution.h"

namespace ptrain::cpu {

std::unique_ptr<Kernel> make_conv2d(const KernelContext& context) {
  const TensorDesc &x = context.inputs[0], &w = context.inputs[1], &y = context.outputs[0];
  const ConvolutionProblem problem(context.op_as<Conv2d>().attrs(), x.shape, w.shape, y.shape);
  std::vector<std::unique_ptr<Kernel>> candidates;
  with_compute_type(x.dtype, [&](dnnl::memory::data_type type) {
    add_candidates<dnnl::convolution_forward>(
        candidates, problem.engine(), problem.forward(type, type), context.options.exhaustive_search,
        [&](const auto& desc) {
          return std::pair{
              std::vector<Binding>{
                  {DNNL_ARG_SRC, 0, x.dtype, problem.x(compute_type(x.dtype)), desc.src_desc()},
                  {DNNL_ARG_WEIGHTS, 1, w.dtype, problem.stored_w(compute_type(w.dtype)), desc.weights_desc()}},
              std::vector<Binding>{{DNNL_ARG_DST, 0, y.dtype, problem.y(compute_type(y.dtype)), desc.dst_desc()}}};
        });
  });
  return choose_kernel(context, std::move(candidates));
}

}  // namespace ptrain::cpu
