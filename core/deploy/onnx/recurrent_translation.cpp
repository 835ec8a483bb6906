// Translates recurrent layers to ONNX's LSTM and GRU, which also compute what the inputs contribute to the gates: the
// linear layer before becomes a part of them.
#include "core/deploy/onnx/node_translator.h"
#include "core/ops/linear.h"
#include "core/ops/sequence/recurrent.h"

#include <algorithm>

namespace ptrain {
namespace {

using Ints = std::vector<std::int64_t>;

/// The gates in ONNX's order: input, output, forget and candidate; of a GRU update, reset and candidate.
Ints order_gates(RecurrentCell cell) { return cell == RecurrentCell::lstm ? Ints{0, 3, 1, 2} : Ints{1, 0, 2}; }

/// As many equal parts as `order` has, in that order.
std::vector<float> reorder(const std::vector<float>& values, const Ints& order) {
  const auto size = static_cast<std::ptrdiff_t>(values.size() / order.size());
  std::vector<float> ordered;
  for (const std::int64_t part : order) {
    ordered.insert(ordered.end(), values.begin() + part * size, values.begin() + (part + 1) * size);
  }
  return ordered;
}

/// The linear layer that computes the inputs' contribution to the gates.
const Node& find_projection(const Node& node, NodeTranslator& n, Translation& t) {
  const NodeId producer = t.from().value(node.inputs[Recurrent::gates]).producer;
  if (producer >= 0) {
    const Node& linear = t.from().node(producer);
    if (linear.op->type() == "linear" && get_op<Linear>(linear).attrs().activation == Activation::none) return linear;
  }
  n.refuse("a recurrent layer without a linear one before it");
}

/// Biases [1,2*G*H] of both contributions.
std::vector<float> join_biases(const Node& node, const Node& projection, const Ints& order, std::int64_t rows,
                               Translation& t) {
  std::vector<float> all;
  const auto add = [&](const Node& from, int input) {
    std::vector<float> bias(static_cast<std::size_t>(rows));
    if (is_given(from, input)) bias = reorder(t.values(from.inputs[static_cast<std::size_t>(input)]), order);
    all.insert(all.end(), bias.begin(), bias.end());
  };
  add(projection, Linear::bias);
  add(node, Recurrent::bias);
  return all;
}

/// i32 [N], the tokens of each text.
std::string add_lengths(NodeTranslator& n) {
  const std::string counted =
      n.add(".tokens", "ReduceSum", {onnx_io::attention_mask, n.integers({1})}, {{"keepdims", std::int64_t{0}}});
  return n.add(".lengths", "Cast", {counted}, {{"to", static_cast<std::int64_t>(OnnxType::i32)}});
}

/// y [T,N,H] with the last state [1,N,H] in place of zeros at steps of padding.
std::string keep_last_state(NodeTranslator& n, const std::string& y, const std::string& last,
                            const std::string& lengths, std::int64_t steps, Translation& t) {
  Ints numbers;
  for (std::int64_t step = 0; step < steps; ++step) numbers.push_back(step);
  const std::string each = t.to().constant(y + ".steps", {steps, 1}, numbers);
  const std::string tokens = n.add(".tokens", "Cast", {lengths}, {{"to", static_cast<std::int64_t>(OnnxType::i64)}});
  const std::string is_token = n.unsqueeze(".is_token", n.add(".is_token", "Less", {each, tokens}), 2);
  return n.add(".kept", "Where", {is_token, y, last});
}

}  // namespace

bool is_part_of_recurrence(const Node& node, const Graph& graph) {
  bool is_read = false;
  for (const Node& reader : graph.nodes()) {
    const auto count = std::ranges::count(reader.inputs, node.outputs[0]);
    if (count == 0) continue;
    is_read = true;
    if (count > 1 || reader.op->type() != "recurrent" || reader.inputs[Recurrent::gates] != node.outputs[0])
      return false;
  }
  return is_read;
}

void translate_recurrent(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const RecurrentAttributes& attrs = get_op<Recurrent>(node).attrs();
  for (const int input : {Recurrent::state, Recurrent::cell, Recurrent::starts}) {
    if (is_given(node, input)) n.refuse("a recurrent layer that continues from a state");
  }
  const bool is_lstm = attrs.cell == RecurrentCell::lstm;
  const Node& projection = find_projection(node, n, t);
  const ValueId matrix = projection.inputs[Linear::w], weight = node.inputs[Recurrent::weight];
  const Shape &s = t.shape(matrix), &r = t.shape(weight);
  const Ints order = order_gates(attrs.cell);
  OnnxGraph::Names inputs{
      t.name(projection.inputs[Linear::x]),
      t.to().constant(t.variable(matrix), {1, s[0], s[1]}, reorder(t.values(matrix), order)),
      t.to().constant(t.variable(weight), {1, r[0], r[1]}, reorder(t.values(weight), order)),
      t.to().constant(node.name + ".biases", {1, 2 * s[0]}, join_biases(node, projection, order, s[0], t))};
  const bool has_lengths = is_given(node, Recurrent::lengths), has_peepholes = is_given(node, Recurrent::peepholes);
  if (has_lengths || has_peepholes) inputs.push_back(has_lengths ? add_lengths(n) : "");
  if (has_peepholes) {
    inputs.insert(inputs.end(), 2, "");  // no initial state
    const std::vector<float> holes = reorder(t.values(node.inputs[Recurrent::peepholes]), {0, 2, 1});
    inputs.push_back(t.to().constant(node.name + ".peepholes", {1, 3 * r[1]}, holes));
  }
  std::vector<OnnxAttribute> attributes{{"hidden_size", r[1]},
                                        {"direction", std::string(attrs.reverse ? "reverse" : "forward")}};
  if (!is_lstm) attributes.push_back({"linear_before_reset", std::int64_t{attrs.cell == RecurrentCell::gru}});
  const OnnxGraph::Names outputs =
      t.to().add_outputs(node.name, is_lstm ? "LSTM" : "GRU", inputs, attributes, 2);  // [T,1,N,H] and [1,N,H]
  const std::string y = n.add(".steps", "Squeeze", {outputs[0], n.integers({1})});
  const std::int64_t steps = t.shape(node.outputs[0])[0];
  const bool is_kept = has_lengths && !attrs.reverse;
  n.set_output(is_kept ? keep_last_state(n, y, outputs[1], inputs[4], steps, t) : y);
}

}  // namespace ptrain
