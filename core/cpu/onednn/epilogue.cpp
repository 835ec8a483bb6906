#include "core/cpu/onednn/epilogue.h"

namespace ptrain::cpu {

dnnl::primitive_attr epilogue_attributes(const Epilogue& epilogue) {
  dnnl::primitive_attr attributes = user_scratchpad();
  dnnl::post_ops ops;
  if (epilogue.residual) ops.append_sum(1.0f);
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
  }
  if (ops.len() > 0) attributes.set_post_ops(ops);
  return attributes;
}

}  // namespace ptrain::cpu
