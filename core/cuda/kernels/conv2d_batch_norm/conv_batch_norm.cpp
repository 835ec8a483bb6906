#include "core/cuda/kernels/conv2d_batch_norm/conv_batch_norm.h"

namespace ptrain::cuda {
namespace {

using Tensor = CudnnGraph::Tensor;

TensorLayout channel_layout(DType dtype, std::int64_t channels) {
  TensorLayout layout = per_channel(channels);
  layout.dtype = dtype;
  return layout;
}

/// Binds x, scale and offset.
Tensor prologue(CudnnGraph& graph, const TensorDesc& x) {
  const TensorLayout channels = channel_layout(x.dtype, x.shape[-1]);
  const Tensor data = graph.input(channels_last(x));
  const Tensor scale = graph.input(channels), offset = graph.input(channels);
  return graph.relu(graph.add(graph.multiply(data, scale), offset));
}

}  // namespace

CudnnGraph conv_batch_norm_graph(const CudnnTarget& target, const Conv2dAttributes& conv, const TensorDesc& x,
                                 const TensorDesc& w, const TensorDesc& y, bool has_prologue) {
  CudnnGraph graph(target, x.dtype);
  const Tensor data = has_prologue ? prologue(graph, x) : graph.input(channels_last(x));
  const Tensor result = graph.convolution(data, graph.input(channels_last(w)), conv);
  graph.output(result, channels_last(y));
  const auto sums = graph.channel_sums(result);
  graph.output(sums.sum, per_channel(y.shape[-1]));
  graph.output(sums.sum_of_squares, per_channel(y.shape[-1]));
  return graph;
}

CudnnGraph conv_batch_norm_grad_input_graph(const CudnnTarget& target, const Conv2dAttributes& conv,
                                            const TensorDesc& dy, const TensorDesc& w, const TensorDesc& x) {
  const TensorLayout data = channels_last(x), channels = per_channel(x.shape[-1]);
  CudnnGraph graph(target, dy.dtype);
  const Tensor gradient = graph.input(channels_last(dy)), weights = graph.input(channels_last(w));
  const Tensor input = graph.input(data);
  const Tensor mean = graph.input(channels), invstd = graph.input(channels);
  const Tensor gamma = graph.input(channels), beta = graph.input(channels);
  // cuDNN recognises the norm only as these four steps.
  const Tensor normed = graph.scale(graph.subtract(input, mean), invstd);
  const Tensor before_relu = graph.add(graph.scale(normed, gamma), beta);
  const Tensor dz = graph.relu_grad(graph.convolution_grad_input(gradient, weights, conv, data), before_relu);
  graph.output(dz, data);
  for (const Tensor sums : graph.batch_norm_grad_sums(dz, input, mean, invstd, gamma)) graph.output(sums, channels);
  return graph;
}

CudnnGraph conv_batch_norm_grad_weight_graph(const CudnnTarget& target, const Conv2dAttributes& conv,
                                             const TensorDesc& x, const TensorDesc& dy, const TensorDesc& dw) {
  CudnnGraph graph(target, x.dtype);
  const Tensor data = prologue(graph, x);
  const Tensor gradient = graph.input(channels_last(dy));
  graph.output(graph.convolution_grad_weight(data, gradient, conv, channels_last(dw)), channels_last(dw));
  return graph;
}

}  // namespace ptrain::cuda
