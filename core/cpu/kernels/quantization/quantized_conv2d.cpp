// Convolution of 8-bit integers through oneDNN, with scales, bias, residual and activation in the same pass.
#include "core/ops/quantization/quantized_conv2d.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/implementation_search.h"
#include "core/cpu/kernels/conv2d/convolution.h"
#include "core/cpu/kernels/quantization/depthwise_int8.h"
#include "core/cpu/kernels/quantization/int8_operation.h"

#include <algorithm>
#include <set>

namespace ptrain::cpu {
namespace {

/// Whether an implementation of that name lacks VNNI, and so adds pairs of products in 16 bits.
bool saturates(const std::string& name) {
  constexpr std::string_view without_vnni[] = {":sse41", ":avx2", ":avx512_core"};
  return std::any_of(std::begin(without_vnni), std::end(without_vnni),
                     [&](std::string_view isa) { return name.ends_with(isa); });
}

}  // namespace

std::unique_ptr<Kernel> make_quantized_conv2d(const KernelContext& context) {
  using Op = QuantizedConv2d;
  const QuantizedConv2dAttributes& attributes = context.op_as<Op>().attrs();
  const TensorDesc &x = context.inputs[Op::x], &w = context.inputs[Op::w], &y = context.outputs[0];
  const ConvolutionProblem problem(attributes.conv, x.shape, w.shape, y.shape);
  const bool has_bias = has_input(context.inputs, Op::bias);
  Epilogue epilogue{has_input(context.inputs, Op::residual), attributes.activation};
  if (attributes.residual) {
    epilogue.residual_scale = attributes.residual->scale;
    epilogue.residual_type = onednn_type(attributes.residual->dtype);
  }
  const Constancy constancy = context.options.constant_weights ? Constancy::constant : Constancy::varies;
  const auto int8 = int8_attributes(epilogue, problem.channel_mask(), attributes.y.has_value());
  const dnnl::memory::desc x_stored = problem.x(onednn_type(x.dtype)),
                           w_stored = problem.stored_w(onednn_type(w.dtype)),
                           y_stored = problem.y(onednn_type(y.dtype));
  auto desc = problem.int8_forward(onednn_type(x.dtype), onednn_type(y.dtype), has_bias, int8);
  std::vector<std::unique_ptr<Kernel>> candidates;
  if (auto kernel = make_depthwise_int8(context)) candidates.push_back(std::move(kernel));
  const std::size_t most = candidates.size() + 3;
  std::set<std::string> offered;  // each counts once, as in add_candidates()
  do {
    const std::string name = desc.impl_info_str();
    if (problem.overruns(name) || !offered.insert(name).second) continue;
    if (!candidates.empty() && is_slow_reference(name)) break;
    if (!candidates.empty() && saturates(name)) continue;
    std::vector<Binding> inputs{
        {DNNL_ARG_SRC, Op::x, x.dtype, x_stored, desc.src_desc()},
        {DNNL_ARG_WEIGHTS, Op::w, w.dtype, w_stored, desc.weights_desc(), constancy},
        {scales_argument(DNNL_ARG_WEIGHTS), Op::w_scale, DType::f32, problem.bias(), problem.bias()}};
    if (has_bias) inputs.push_back({DNNL_ARG_BIAS, Op::bias, DType::f32, problem.bias(), problem.bias()});
    Binding result{DNNL_ARG_DST, 0, y.dtype, y_stored, desc.dst_desc()};
    if (epilogue.residual) result.starts_from = Op::residual;
    candidates.push_back(int8_operation<dnnl::convolution_forward>(problem.engine(), desc, name, inputs, result,
                                                                   attributes.x, attributes.y));
  } while (context.options.exhaustive_search && candidates.size() < most && desc.next_impl());
  return choose_kernel(context, std::move(candidates));
}

}  // namespace ptrain::cpu
