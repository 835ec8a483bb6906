#include "core/cuda/kernels/attention/attention_graphs.h"

namespace ptrain::cuda {
namespace {

/// [B,heads,S,D] where the D elements of a head are contiguous in tokens of `width` elements.
TensorLayout heads_layout(const AttentionExtents& e, std::int64_t heads, std::int64_t width) {
  return {e.dtype, {e.batch, heads, e.length, e.depth}, {e.length * width, e.depth, width, 1}};
}
TensorLayout query_layout(const AttentionExtents& e) { return heads_layout(e, e.heads, e.qkv_width()); }
TensorLayout key_layout(const AttentionExtents& e) { return heads_layout(e, e.kv_heads, e.qkv_width()); }
TensorLayout out_layout(const AttentionExtents& e) { return heads_layout(e, e.heads, e.out_width()); }
TensorLayout lse_layout(const AttentionExtents& e) {
  return {DType::f32, {e.batch, e.heads, e.length, 1}, {e.heads * e.length, e.length, 1, 1}};
}

/// The offsets of packed sequences, and the tensors addressed through them.
class RaggedTensors {
 public:
  RaggedTensors(CudnnGraph& graph, const AttentionExtents& e) : graph_(graph) {
    if (!e.packed) return;
    const TensorLayout offsets{DType::i32, {e.batch + 1, 1, 1, 1}, {1, 1, 1, 1}};
    qkv_ = graph.input(offsets);
    out_ = graph.input(offsets);
  }
  void lies_in_qkv(CudnnGraph::Tensor tensor) const {
    if (qkv_) graph_.set_ragged(tensor, *qkv_);
  }
  void lies_in_out(CudnnGraph::Tensor tensor) const {
    if (out_) graph_.set_ragged(tensor, *out_);
  }

 private:
  CudnnGraph& graph_;
  std::optional<CudnnGraph::Tensor> qkv_, out_;
};

struct DeclaredInputs {
  CudnnGraph::AttentionInputs inputs;
  RaggedTensors ragged;
};

/// Declares dropout's inputs.
void declare_dropout(CudnnGraph& graph, const AttentionExtents& e, const AttentionAttributes& attributes,
                     CudnnGraph::AttentionInputs& inputs) {
  if (attributes.dropout <= 0) return;
  if (attributes.algorithm == AttentionAlgorithm::flash) {
    // On compute capability 10 cuDNN rejects i32 here (https://github.com/pytorch/pytorch/pull/146734).
    const TensorLayout number{DType::i64, {1, 1, 1, 1}, {1, 1, 1, 1}};
    const auto seed = graph.input(number), offset = graph.input(number);
    inputs.dropout = {seed, offset, attributes.dropout};
    return;
  }
  const std::int64_t square = e.length * e.length;
  inputs.mask = graph.input({e.dtype, {e.batch, e.heads, e.length, e.length}, {e.heads * square, square, e.length, 1}});
}

DeclaredInputs declare_inputs(CudnnGraph& graph, const AttentionExtents& e, const AttentionAttributes& attributes) {
  const TensorLayout lengths{DType::i32, {e.batch, 1, 1, 1}, {1, 1, 1, 1}};
  CudnnGraph::AttentionInputs inputs;
  inputs.q = graph.input(query_layout(e));
  for (auto* part : {&inputs.k, &inputs.v}) *part = graph.input(key_layout(e));
  for (auto* part : {&inputs.query_lengths, &inputs.key_lengths}) *part = graph.input(lengths);
  const RaggedTensors ragged(graph, e);
  for (const auto part : {inputs.q, inputs.k, inputs.v}) ragged.lies_in_qkv(part);
  inputs.scale = e.scale;
  inputs.causal = e.causal;
  declare_dropout(graph, e, attributes, inputs);
  return {inputs, ragged};
}

}  // namespace

CudnnGraph attention_graph(const CudnnTarget& target, const AttentionExtents& e,
                           const AttentionAttributes& attributes) {
  CudnnGraph graph(target, e.dtype);
  const auto [inputs, ragged] = declare_inputs(graph, e, attributes);
  const auto attended = graph.attention(inputs);
  graph.output(attended.out, out_layout(e));
  ragged.lies_in_out(attended.out);
  graph.output(attended.lse, lse_layout(e));
  return graph;
}

CudnnGraph attention_grad_graph(const CudnnTarget& target, const AttentionExtents& e,
                                const AttentionAttributes& attributes, bool deterministic) {
  CudnnGraph graph(target, e.dtype);
  const auto [inputs, ragged] = declare_inputs(graph, e, attributes);
  const auto out = graph.input(out_layout(e)), dout = graph.input(out_layout(e)), lse = graph.input(lse_layout(e));
  for (const auto tensor : {out, dout}) ragged.lies_in_out(tensor);
  const auto gradients = graph.attention_grad(inputs, out, dout, lse, deterministic);
  graph.output(gradients.dq, query_layout(e));
  for (const auto gradient : {gradients.dk, gradients.dv}) graph.output(gradient, key_layout(e));
  for (const auto gradient : {gradients.dq, gradients.dk, gradients.dv}) ragged.lies_in_qkv(gradient);
  return graph;
}

}  // namespace ptrain::cuda
