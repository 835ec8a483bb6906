// Gradient of a convolution with respect to its weights, accumulated in fp32: through oneDNN, or one matrix product per
// filter tap.
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/implementation_search.h"
#include "core/cpu/kernels/conv2d/convolution.h"
#include "core/cpu/kernels/conv2d/depthwise_weight_gradient.h"
#include "core/cpu/kernels/conv2d/weight_gradient_by_taps.h"
#include "core/cpu/kernels/conv2d/winograd.h"
#include "core/cpu/kernels/linear/linear_candidates.h"
#include "core/ops/image/conv2d.h"

namespace ptrain::cpu {
namespace {

/// For a convolution that equals a linear layer over its pixels: that layer's gradient kernels.
std::vector<std::unique_ptr<Kernel>> as_linear(const Conv2dAttributes& conv, const TensorDesc& x, const TensorDesc& dy,
                                               const TensorDesc& dw) {
  const bool pixel_by_pixel = dw.shape[1] == 1 && dw.shape[2] == 1 && conv.stride == 1 && conv.padding == 0;
  if (!pixel_by_pixel || conv.groups != 1) return {};
  const std::int64_t channels = x.shape[3];
  return linear_grad_weight_candidates({x.count() / channels, channels, dy.shape[3], x.dtype, dw.dtype, dy.dtype});
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d_grad_weight(const KernelContext& context) {
  const TensorDesc &x = context.inputs[0], &dy = context.inputs[1], &dw = context.outputs[0];
  const Conv2dAttributes& conv = context.op_as<Conv2dGradWeight>().attrs().conv;
  const ConvolutionProblem problem(conv, x.shape, dw.shape, dy.shape);
  std::vector<std::unique_ptr<Kernel>> candidates;
  if (auto kernel = make_weight_gradient_by_taps({x.shape, dy.shape, dw, conv}, x.dtype))
    candidates.push_back(std::move(kernel));
  if (auto kernel = make_depthwise_weight_gradient(x, dy, dw, conv)) candidates.push_back(std::move(kernel));
  with_compute_type(x.dtype, [&](dnnl::memory::data_type type) {
    const auto hint = problem.forward(type, type);
    add_candidates<dnnl::convolution_backward_weights>(
        candidates, problem, problem.grad_weight(type, hint), context.options.exhaustive_search, [&](const auto& desc) {
          return std::pair{
              std::vector<Binding>{
                  {DNNL_ARG_SRC, 0, x.dtype, problem.x(compute_type(x.dtype)), desc.src_desc()},
                  {DNNL_ARG_DIFF_DST, 1, dy.dtype, problem.y(compute_type(dy.dtype)), desc.diff_dst_desc()}},
              std::vector<Binding>{{DNNL_ARG_DIFF_WEIGHTS, 0, dw.dtype, problem.stored_w(compute_type(dw.dtype)),
                                    desc.diff_weights_desc()}}};
        });
  });
  for (auto& kernel : as_linear(conv, x, dy, dw)) candidates.push_back(std::move(kernel));
  for (auto& kernel : winograd_grad_weight_candidates(x, dy, dw, conv)) candidates.push_back(std::move(kernel));
  return choose_kernel(context, std::move(candidates));
}

}  // namespace ptrain::cpu
