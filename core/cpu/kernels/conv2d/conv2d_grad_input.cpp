// Gradient of a convolution with respect to its data, through oneDNN.
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/implementation_search.h"
#include "core/cpu/kernels/conv2d/convolution.h"
#include "core/cpu/kernels/conv2d/winograd.h"
#include "core/ops/image/conv2d.h"

namespace ptrain::cpu {

std::unique_ptr<Kernel> make_conv2d_grad_input(const KernelContext& context) {
  const TensorDesc &dy = context.inputs[0], &w = context.inputs[1], &dx = context.outputs[0];
  const Conv2dAttributes& conv = context.op_as<Conv2dGradInput>().attrs().conv;
  const ConvolutionProblem problem(conv, dx.shape, w.shape, dy.shape);
  std::vector<std::unique_ptr<Kernel>> candidates;
  with_compute_type(dy.dtype, [&](dnnl::memory::data_type type) {
    const auto hint = problem.forward(type, type);
    add_candidates<dnnl::convolution_backward_data>(
        candidates, problem, problem.grad_input(type, hint), context.options.exhaustive_search, [&](const auto& desc) {
          return std::pair{
              std::vector<Binding>{
                  {DNNL_ARG_DIFF_DST, 0, dy.dtype, problem.y(compute_type(dy.dtype)), desc.diff_dst_desc()},
                  {DNNL_ARG_WEIGHTS, 1, w.dtype, problem.stored_w(compute_type(w.dtype)), desc.weights_desc()}},
              std::vector<Binding>{
                  {DNNL_ARG_DIFF_SRC, 0, dx.dtype, problem.x(compute_type(dx.dtype)), desc.diff_src_desc()}}};
        });
  });
  for (auto& kernel : winograd_candidates({FilterUse::data_gradient, dy, w, dx, conv})) {
    candidates.push_back(std::move(kernel));
  }
  return choose_kernel(context, std::move(candidates));
}

}  // namespace ptrain::cpu
