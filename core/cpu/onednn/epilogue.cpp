#include "core/cpu/onednn/epilogue.h"

#include "core/base/errors.h"

namespace ptrain::cpu {

dnnl::primitive_attr epilogue_attributes(const Epilogue& epilogue) {
  dnnl::primitive_attr attributes = user_scratchpad();
  dnnl::post_ops ops;
  if (epilogue.residual) ops.append_sum(epilogue.residual_scale, 0, epilogue.residual_type);
  switch (epilogue.activation) {
    case Activation::none:
      break;
    case Activation::gelu_erf:
      append_eltwise(ops, dnnl::algorithm::eltwise_gelu_erf);
      break;
    case Activation::gelu_tanh:
      append_eltwise(ops, dnnl::algorithm::eltwise_gelu_tanh);
      break;
    case Activation::tanh:
      append_eltwise(ops, dnnl::algorithm::eltwise_tanh);
      break;
    case Activation::relu:
      append_eltwise(ops, dnnl::algorithm::eltwise_relu);
      break;
    case Activation::relu6:
      append_eltwise(ops, dnnl::algorithm::eltwise_clip, 0, 6);
      break;
    case Activation::hard_sigmoid:  // as two functions, since oneDNN 2 has none
      append_eltwise(ops, dnnl::algorithm::eltwise_linear, 1.0f / 6, 0.5f);
      append_eltwise(ops, dnnl::algorithm::eltwise_clip, 0, 1);
      break;
    case Activation::hard_swish:
      append_eltwise(ops, dnnl::algorithm::eltwise_hardswish, 1.0f / 6, 0.5f);
      break;
    case Activation::sigmoid:
      append_eltwise(ops, dnnl::algorithm::eltwise_logistic);
      break;
    case Activation::silu:
      append_eltwise(ops, dnnl::algorithm::eltwise_swish, 1);
      break;
  }
  if (ops.len() > 0) attributes.set_post_ops(ops);
  return attributes;
}

#if DNNL_VERSION_MAJOR >= 3
dnnl::primitive_attr int8_attributes(const Epilogue& epilogue, int weights_mask, bool scaled_result) {
  dnnl::primitive_attr attributes = epilogue_attributes(epilogue);
  attributes.set_scales_mask(DNNL_ARG_SRC, 0);
  attributes.set_scales_mask(DNNL_ARG_WEIGHTS, weights_mask);
  if (scaled_result) attributes.set_scales_mask(DNNL_ARG_DST, 0);
  return attributes;
}

int scales_argument(int argument) { return DNNL_ARG_ATTR_SCALES | argument; }
#else
namespace {
[[noreturn]] void refuse_int8() {
  fail("8-bit layers need oneDNN 3.0 or newer; this ptrain was built with {}.{}", DNNL_VERSION_MAJOR,
       DNNL_VERSION_MINOR);
}
}  // namespace

dnnl::primitive_attr int8_attributes(const Epilogue&, int, bool) { refuse_int8(); }
int scales_argument(int) { refuse_int8(); }
#endif

}  // namespace ptrain::cpu
