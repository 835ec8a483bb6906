// Convolution through oneDNN, with bias, residual and activation in the same pass. Weights are converted to the
// primitive's layout and dtype in the workspace, or only once if constant.
#include "core/ops/image/conv2d.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/implementation_search.h"
#include "core/cpu/kernels/conv2d/convolution.h"
#include "core/cpu/kernels/conv2d/winograd.h"

namespace ptrain::cpu {

std::unique_ptr<Kernel> make_conv2d(const KernelContext& context) {
  const auto& op = context.op_as<Conv2d>();
  const TensorDesc &x = context.inputs[Conv2d::x], &w = context.inputs[Conv2d::w], &y = context.outputs[0];
  const ConvolutionProblem problem(op.attrs(), x.shape, w.shape, y.shape);
  const bool bias = has_input(context.inputs, Conv2d::bias);
  const bool residual = has_input(context.inputs, Conv2d::residual);
  const Constancy weights = context.options.constant_weights ? Constancy::constant : Constancy::varies;
  std::vector<std::unique_ptr<Kernel>> candidates;
  with_compute_type(x.dtype, [&](dnnl::memory::data_type type) {
    add_candidates<dnnl::convolution_forward>(
        candidates, problem, problem.forward(type, type, bias, {residual, op.activation()}),
        context.options.exhaustive_search, [&](const auto& desc) {
          std::vector<Binding> inputs{
              {DNNL_ARG_SRC, Conv2d::x, x.dtype, problem.x(compute_type(x.dtype)), desc.src_desc()},
              {DNNL_ARG_WEIGHTS, Conv2d::w, w.dtype, problem.stored_w(compute_type(w.dtype)), desc.weights_desc(),
               weights}};
          if (bias) inputs.push_back({DNNL_ARG_BIAS, Conv2d::bias, DType::f32, problem.bias(), problem.bias()});
          Binding result{DNNL_ARG_DST, 0, y.dtype, problem.y(compute_type(y.dtype)), desc.dst_desc()};
          if (residual) result.starts_from = Conv2d::residual;
          return std::pair{std::move(inputs), std::vector<Binding>{result}};
        });
  });
  for (auto& kernel : winograd_candidates(
           {FilterUse::convolution, x, w, y, op.attrs(), op.activation(), context.options.constant_weights})) {
    candidates.push_back(std::move(kernel));
  }
  return choose_kernel(context, std::move(candidates));
}

}  // namespace ptrain::cpu
