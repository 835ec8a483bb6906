// The intermediate representation: a list of nodes in execution order over values in single assignment.
#pragma once

#include "core/graph/op.h"

#include <optional>

namespace ptrain {

using NodeId = std::int32_t;

/// Where a value lives.
enum class Storage {
  input,       // fed before each step
  parameter,   // trained; persists
  state,       // persists, not trained by gradient: running statistics, optimizer state, flat buffers
  activation,  // made and consumed within a step; the memory plan places it
};

/// `recompute` nodes, which repeat forward ones, and `exchange` nodes are placed among the backward ones; micro-batches
/// whose gradients stay on the rank skip the latter. `fetch` nodes, which may lie anywhere, get the next batch's rows
/// of divided tables (core/passes/delay_updates.h).
enum class Pass { fetch, forward, recompute, backward, exchange, update };
inline const char* phase_name(Pass phase) {
  constexpr const char* names[]{"fetch", "forward", "recompute", "backward", "exchange", "update"};
  return names[static_cast<std::size_t>(phase)];
}

struct Value {
  std::string name;
  TensorDesc desc;
  Storage storage = Storage::activation;
  NodeId producer = -1;
  ValueId base = no_value;       // a view of this value's memory...
  std::int64_t byte_offset = 0;  // ...from this byte on
};

/// Whether each step writes a state, of that name, before it reads it, as it does gradients: nothing saves it, and in
/// graphs of other batch sizes it may have another size.
inline bool is_of_a_step(std::string_view state) { return state.starts_with("flat.grad"); }

struct Node {
  std::string name;
  OpPtr op;
  std::vector<ValueId> inputs;  // no_value marks an absent optional input
  std::vector<ValueId> outputs;
  Pass phase = Pass::forward;
};

class Graph {
 public:
  ValueId add_value(std::string name, TensorDesc desc, Storage storage);
  ValueId add_input(std::string name, TensorDesc desc) {
    return add_value(std::move(name), std::move(desc), Storage::input);
  }
  ValueId add_parameter(std::string name, Shape shape) {
    return add_value(std::move(name), {DType::f32, std::move(shape)}, Storage::parameter);
  }
  ValueId add_state(std::string name, TensorDesc desc) {
    return add_value(std::move(name), std::move(desc), Storage::state);
  }
  /// Elements [begin, end) of a flat state, "name[begin:end]".
  ValueId add_part(ValueId state, std::int64_t begin, std::int64_t end);
  /// Makes a value lie in a state, from its element `begin` on.
  void place(ValueId value, ValueId state, std::int64_t begin);

  /// Appends a node, infers its outputs (named "name" or "name:1"...) and returns them.
  /// Throws Error{usage} naming the node when the shapes do not fit.
  std::vector<ValueId> add_node(std::string name, OpPtr op, std::vector<ValueId> inputs, Pass phase = Pass::forward);
  /// The same for an op with one output.
  ValueId add(std::string name, OpPtr op, std::vector<ValueId> inputs, Pass phase = Pass::forward) {
    return add_node(std::move(name), std::move(op), std::move(inputs), phase).front();
  }

  /// Marks a value that must be readable after a step, under a name such as "loss" or "logits".
  void set_output(std::string name, ValueId value);
  /// Unmarks all outputs.
  void clear_outputs() { outputs_.clear(); }
  const std::vector<std::pair<std::string, ValueId>>& outputs() const { return outputs_; }
  /// no_value when there is no such output.
  ValueId find_output(std::string_view name) const;

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Value>& values() const { return values_; }
  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  const TensorDesc& desc(ValueId id) const { return value(id).desc; }
  /// The value whose memory `id` lies in (itself when it is no view).
  ValueId root(ValueId id) const;
  /// no_value when no value has that name.
  ValueId find_value(std::string_view name) const;

  /// Descriptors of a node's inputs (absent_input() where absent) and outputs.
  std::vector<TensorDesc> input_descs(const Node& node) const;
  std::vector<TensorDesc> output_descs(const Node& node) const;

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<std::pair<std::string, ValueId>> outputs_;
};

/// Throws std::logic_error when the graph is not well formed: an input used before it is made, a value made twice, a
/// descriptor that inference does not give, a mutated input that does not persist, a view outside its base.
void verify(const Graph& graph);

/// One line per persistent value and per node, for people: "%12 relu = batch_norm(%10, %3, %4) epsilon=1e-05 :
/// f32[..]".
std::string print(const Graph& graph);

}  // namespace ptrain
