#include "core/cpu/kernels/conv2d/convolution.h"

namespace ptrain::cpu {
namespace {

using Tag = dnnl::memory::format_tag;

/// Padding after the last element for an output of `out` elements: less than `padding` where the stride skips the rest.
std::int64_t padding_after(const Conv2dAttributes& conv, std::int64_t in, std::int64_t kernel, std::int64_t out) {
  return (out - 1) * conv.stride + conv.dilation * (kernel - 1) + 1 - in - conv.padding;
}

constexpr auto algorithm = dnnl::algorithm::convolution_direct;

}  // namespace

ConvolutionProblem::ConvolutionProblem(const Conv2dAttributes& conv, const Shape& x, const Shape& w, const Shape& y)
    : x_{x[0], x[3], x[1], x[2]},
      w_{w[0], w[3], w[1], w[2]},
      y_{y[0], y[3], y[1], y[2]},
      strides_{conv.stride, conv.stride},
      dilations_{conv.dilation - 1, conv.dilation - 1},
      padding_before_{conv.padding, conv.padding},
      padding_after_{padding_after(conv, x[1], w[1], y[1]), padding_after(conv, x[2], w[2], y[2])},
      grouped_(conv.groups > 1) {
  if (grouped_) w_ = {conv.groups, w[0] / conv.groups, w[3], w[1], w[2]};
}

dnnl::memory::desc ConvolutionProblem::stored_w(dnnl::memory::data_type type) const {
  return {w_, type, grouped_ ? Tag::gohwi : Tag::ohwi};
}

ConvolutionProblem::Forward ConvolutionProblem::forward(dnnl::memory::data_type data, dnnl::memory::data_type weights,
                                                        bool has_bias, const Epilogue& epilogue) const {
  const auto describe = [&](const auto&... tensors) {
    return forward_desc<dnnl::convolution_forward>(engine_, epilogue_attributes(epilogue),
                                                   dnnl::prop_kind::forward_training, algorithm, tensors..., strides_,
                                                   dilations_, padding_before_, padding_after_);
  };
  return has_bias ? describe(x(data), any_w(weights), bias(), y(data)) : describe(x(data), any_w(weights), y(data));
}

ConvolutionProblem::Forward ConvolutionProblem::int8_forward(dnnl::memory::data_type data,
                                                             dnnl::memory::data_type result, bool has_bias,
                                                             const dnnl::primitive_attr& attributes) const {
  const auto describe = [&](const auto&... tensors) {
    return forward_desc<dnnl::convolution_forward>(engine_, attributes, dnnl::prop_kind::forward_inference, algorithm,
                                                   tensors..., strides_, dilations_, padding_before_, padding_after_);
  };
  const dnnl::memory::desc w = any_w(dnnl::memory::data_type::s8);
  return has_bias ? describe(x(data), w, bias(), y(result)) : describe(x(data), w, y(result));
}

dnnl::convolution_backward_data::primitive_desc ConvolutionProblem::grad_input(dnnl::memory::data_type data,
                                                                               const Forward& hint) const {
  return backward_desc<dnnl::convolution_backward_data>(engine_, user_scratchpad(), hint, algorithm, x(data),
                                                        any_w(data), y(data), strides_, dilations_, padding_before_,
                                                        padding_after_);
}

dnnl::convolution_backward_weights::primitive_desc ConvolutionProblem::grad_weight(dnnl::memory::data_type data,
                                                                                   const Forward& hint) const {
  return backward_desc<dnnl::convolution_backward_weights>(engine_, user_scratchpad(), hint, algorithm, x(data),
                                                           any_w(dnnl::memory::data_type::f32), y(data), strides_,
                                                           dilations_, padding_before_, padding_after_);
}

void with_compute_type(DType dtype, const std::function<void(dnnl::memory::data_type)>& add) {
  const auto type = compute_type(dtype);
  if (type == dnnl::memory::data_type::f32) return add(type);
  try {
    add(type);
  } catch (const dnnl::error&) {
    add(dnnl::memory::data_type::f32);
  }
}

}  // namespace ptrain::cpu
