// Translates ops on tensors of any number of axes. Those of four are images, whose channels come first in ONNX.
#include "core/base/errors.h"
#include "core/deploy/onnx/node_translator.h"
#include "core/ops/concat.h"
#include "core/ops/elementwise.h"
#include "core/ops/tensor/axis.h"
#include "core/ops/tensor/batched_matmul.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/gather.h"
#include "core/ops/tensor/pointwise_chain.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/slice.h"
#include "core/ops/tensor/transpose.h"
#include "core/ops/tensor/unary.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ptrain {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr int image_rank = 4;

/// Where an axis of the graph is in ONNX. Packed texts have one more there: axes counted from the last stay so.
std::int64_t find_axis(int axis, int rank) {
  constexpr std::array<std::int64_t, image_rank> channels_first{0, 2, 3, 1};
  return rank == image_rank ? channels_first[static_cast<std::size_t>(resolve_axis(axis, rank))] : axis;
}

/// Numbers per channel are spread over an image's pixels.
std::string fit_operand(NodeTranslator& n, int index, int rank) {
  const Shape& shape = n.input_shape(index);
  if (shape.rank() == rank || rank != image_rank || shape.count() == 1) return n.input(index);
  if (shape.rank() != 1) n.refuse("this broadcast to images");
  return n.add(".channels", "Unsqueeze", {n.input(index), n.integers({1, 2})});
}

std::string add_unary(NodeTranslator& n, const UnaryAttributes& unary, const std::string& x) {
  const auto [a, b] = unary.constants;
  switch (unary.function) {
    case UnaryFunction::abs:
      return n.add("", "Abs", {x});
    case UnaryFunction::affine: {
      const std::string scaled = a == 1 ? x : n.add("", "Mul", {x, n.number(a)});
      return b == 0 ? scaled : n.add("", "Add", {scaled, n.number(b)});
    }
    case UnaryFunction::clamp:
      return n.add("", "Clip", {x, n.number(a), n.number(b)});
    case UnaryFunction::exp:
      return n.add("", "Exp", {x});
    case UnaryFunction::log:
      return n.add("", "Log", {x});
    case UnaryFunction::log1p:
      return n.add("", "Log", {n.add("", "Add", {x, n.number(1)})});
    case UnaryFunction::neg:
      return n.add("", "Neg", {x});
    case UnaryFunction::power:
      return n.add("", "Pow", {x, n.number(a)});
    case UnaryFunction::reciprocal:
      return n.add("", "Reciprocal", {x});
    case UnaryFunction::rsqrt:
      return n.add("", "Reciprocal", {n.add("", "Sqrt", {x})});
    case UnaryFunction::softplus:
      return n.add("", "Softplus", {x});
    case UnaryFunction::sqrt:
      return n.add("", "Sqrt", {x});
    case UnaryFunction::square:
      return n.add("", "Mul", {x, x});
  }
  return x;
}

const char* name_in_onnx(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::add:
      return "Add";
    case BinaryFunction::div:
      return "Div";
    case BinaryFunction::maximum:
      return "Max";
    case BinaryFunction::minimum:
      return "Min";
    case BinaryFunction::mul:
      return "Mul";
    case BinaryFunction::pow:
      return "Pow";
    case BinaryFunction::sub:
      break;
  }
  return "Sub";
}

std::string transpose_matrices(NodeTranslator& n, const std::string& x, int rank) {
  Ints order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return n.transpose(".transposed", x, order);
}

}  // namespace

std::string add_in_graph_order(const Node& node, const std::string& x, const Shape& shape, Translation& t) {
  if (shape.rank() != image_rank) return x;
  return NodeTranslator(node, t).transpose(".channels_last", x, {0, 2, 3, 1});
}

std::string add_in_graph_order(const Node& node, ValueId x, Translation& t) {
  return add_in_graph_order(node, t.name(x), t.shape(x), t);
}

void set_in_graph_order(const Node& node, std::string y, Translation& t) {
  NodeTranslator n(node, t);
  if (t.shape(node.outputs[0]).rank() == image_rank) y = n.transpose(".channels_first", y, {0, 3, 1, 2});
  n.set_output(std::move(y));
}

/// The elements in the order of channels last. Rows become images of one pixel.
void translate_reshape(const Node& node, Translation& t) {
  const Shape &from = t.shape(node.inputs[0]), &to = t.shape(node.outputs[0]);
  if (from.rank() == 2 && to == Shape{from[0], 1, 1, from[1]}) {
    const std::string axes = t.to().constant(node.name + ".axes", {2}, Ints{2, 3});
    return t.name(node.outputs[0], t.to().add(node.name, "Unsqueeze", {t.name(node.inputs[0]), axes}));
  }
  const std::string x = add_in_graph_order(node, node.inputs[0], t);
  Ints dims(to.dims().begin(), to.dims().end());
  dims.front() = -1;  // any number of samples, or of their regions
  const std::string form = t.to().constant(node.name + ".form", {static_cast<std::int64_t>(dims.size())}, dims);
  set_in_graph_order(node, t.to().add(node.name, "Reshape", {x, form}), t);
}

void translate_add(const Node& node, Translation& t) {
  t.name(node.outputs[0], t.to().add(node.name, "Add", {t.name(node.inputs[0]), t.name(node.inputs[1])}));
}

void translate_scale(const Node& node, Translation& t) {
  const std::string factor = t.to().scalar(node.name + ".factor", get_op<Scale>(node).factor());
  t.name(node.outputs[0], t.to().add(node.name, "Mul", {t.name(node.inputs[0]), factor}));
}

void translate_unary(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  n.set_output(add_unary(n, get_op<Unary>(node).attrs(), n.input(0)));
}

void translate_binary(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const int rank = t.shape(node.outputs[0]).rank();
  n.set_output(n.add("", name_in_onnx(get_op<Binary>(node).function()),
                     {fit_operand(n, Binary::a, rank), fit_operand(n, Binary::b, rank)}));
}

void translate_pointwise_chain(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const PointwiseChainAttributes& chain = get_op<PointwiseChain>(node).attrs();
  const int rank = t.shape(node.outputs[0]).rank();
  OnnxGraph::Names values;
  for (int i = 0; i < chain.inputs; ++i) values.push_back(fit_operand(n, i, rank));
  for (const PointwiseStep& step : chain.steps) {
    const auto operand = [&](int index) {
      return values.at(static_cast<std::size_t>(step.operands[static_cast<std::size_t>(index)]));
    };
    if (const auto* unary = dynamic_cast<const Unary*>(step.op.get())) {
      values.push_back(add_unary(n, unary->attrs(), operand(0)));
    } else if (const auto* binary = dynamic_cast<const Binary*>(step.op.get())) {
      values.push_back(n.add("", name_in_onnx(binary->function()), {operand(Binary::a), operand(Binary::b)}));
    } else {
      n.refuse(std::string(step.op->type()));
    }
  }
  n.set_output(values.back());
}

void translate_slice(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const auto [axis, begin, end] = get_op<Slice>(node).attrs();
  n.set_output(n.slice("", n.input(0), find_axis(axis, n.input_shape(0).rank()), begin, end));
}

void translate_transpose(const Node& node, Translation& t) {
  const std::vector<int>& order = get_op<Transpose>(node).order();
  const std::string x = add_in_graph_order(node, node.inputs[0], t);
  set_in_graph_order(node, NodeTranslator(node, t).transpose("", x, {order.begin(), order.end()}), t);
}

void translate_reduce(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const ReduceAttributes& attrs = get_op<Reduce>(node).attrs();
  const std::vector<bool> reduced = reduced_axes(attrs, n.input_shape(0).rank());
  Ints axes;
  for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
    if (reduced[axis]) axes.push_back(static_cast<std::int64_t>(axis));
  }
  const std::string x = add_in_graph_order(node, node.inputs[0], t);
  const std::int64_t keeps = attrs.keep_dims == KeepDims::yes ? 1 : 0;
  if (attrs.kind == ReduceKind::sum) {
    return set_in_graph_order(node, n.add("", "ReduceSum", {x, n.integers(axes)}, {{"keepdims", keeps}}), t);
  }
  const char* const type = attrs.kind == ReduceKind::max ? "ReduceMax" : "ReduceMean";
  set_in_graph_order(node, n.add("", type, {x}, {{"axes", axes}, {"keepdims", keeps}}), t);
}

void translate_batched_matmul(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const BatchedMatmulAttributes& attrs = get_op<BatchedMatmul>(node).attrs();
  const int rank = n.input_shape(BatchedMatmul::a).rank();
  const auto operand = [&](int index, Orientation orientation) {
    const std::string x = add_in_graph_order(node, node.inputs[static_cast<std::size_t>(index)], t);
    return orientation == Orientation::plain ? x : transpose_matrices(n, x, rank);
  };
  set_in_graph_order(node,
                     n.add("", "MatMul", {operand(BatchedMatmul::a, attrs.a), operand(BatchedMatmul::b, attrs.b)}), t);
}

/// Of each row, the elements along the last axis that the row's index names.
void translate_gather(const Node& node, Translation& t) {
  const GatherAttributes& attrs = get_op<Gather>(node).attrs();
  const Shape &x = t.shape(node.inputs[Gather::x]), &indices = t.shape(node.inputs[Gather::indices]);
  const int rank = x.rank(), rows = indices.rank();
  if (attrs.axis != -1 || attrs.batch_axes != rows || rank == image_rank || rank <= rows) {
    fail("{}: a gather from {} by {} has no translation to ONNX", node.name, x.to_string(), indices.to_string());
  }
  Ints axes, form(static_cast<std::size_t>(rows), 1);
  for (int axis = rows; axis < rank; ++axis) {
    axes.push_back(axis);
    form.push_back(axis + 1 < rank ? x[axis] : 1);
  }
  NodeTranslator n(node, t);
  const std::string spread = n.add(".unsqueezed", "Unsqueeze", {n.input(Gather::indices), n.integers(axes)});
  const std::string expanded = n.add(".indices", "Expand", {spread, n.integers(form)});
  const std::string picked =
      n.add(".picked", "GatherElements", {n.input(Gather::x), expanded}, {{"axis", std::int64_t{rank - 1}}});
  set_in_graph_order(node, n.add("", "Squeeze", {picked, n.integers({rank - 1})}), t);
}

void translate_concat(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const std::optional<int> axis = get_op<Concat>(node).axis();
  if (!axis) n.refuse("a concatenation of flat tensors");
  OnnxGraph::Names parts;
  for (const ValueId part : node.inputs) parts.push_back(t.name(part));
  n.set_output(n.concat("", parts, find_axis(*axis, t.shape(node.outputs[0]).rank())));
}

/// Images of one pixel are spread; tensors that are no images take any form.
void translate_expand(const Node& node, Translation& t) {
  const Shape &from = t.shape(node.inputs[0]), &to = t.shape(node.outputs[0]);
  if (to.rank() > image_rank && from.rank() == to.rank() && from[0] == to[0]) {
    Ints dims(to.dims().begin(), to.dims().end());
    dims.front() = 1;  // any number of samples
    const std::string form = t.to().constant(node.name + ".form", {to.rank()}, dims);
    return t.name(node.outputs[0], t.to().add(node.name, "Expand", {t.name(node.inputs[0]), form}));
  }
  if (from.rank() != image_rank || from != Shape{to[0], 1, 1, to[3]}) {
    fail("{}: a broadcast from {} to {} has no translation to ONNX", node.name, from.to_string(), to.to_string());
  }
  const std::string pixels = t.to().constant(node.name + ".pixels", {4}, Ints{1, 1, to[1], to[2]});
  t.name(node.outputs[0], t.to().add(node.name, "Expand", {t.name(node.inputs[0]), pixels}));
}

}  // namespace ptrain
