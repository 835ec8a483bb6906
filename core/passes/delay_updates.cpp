#include "core/passes/delay_updates.h"

#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "core/ops/sparse/exchanged_rows.h"
#include "core/ops/sparse/find_rows.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/training/all_reduce.h"
#include "core/passes/grad_allreduce.h"
#include "core/passes/optimizer.h"
#include "core/passes/rewriter.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace ptrain {
namespace {

using Nodes = std::vector<const Node*>;

bool waits(const Node& node) {
  const std::string_view type = node.op->type();
  return node.phase != Pass::update && (type == "exchange_wait" || type == "all_reduce_wait");
}

class DelayedUpdates {
 public:
  explicit DelayedUpdates(const Graph& graph) : graph_(graph), rewriter_(graph) {}

  Graph run() {
    for (const Node& node : graph_.nodes()) sort(node);
    take_table_updates();
    keep_results();
    keep_ids();
    emit_step();
    wait("exchange.wait");
    for (const Node* node : updates_) update(*node);
    for (const Node* node : sends_) send(*node);
    return rewriter_.finish();
  }

 private:
  /// The exchanges that get the next batch's rows.
  enum Stage { numbers, ids, rows, stages };

  Graph& to() { return rewriter_.graph(); }

  void sort(const Node& node) {
    const std::string_view type = node.op->type();
    if (type == "sparse_gradient") {
      fail_usage("dist.updates: expected synchronous, or dist.tables rows: every rank has all of the tables");
    }
    if (type == "loss_scale_update") {
      fail_usage("dist.updates: expected synchronous: the loss is scaled, by a factor that differs between steps");
    }
    if (waits(node)) return;  // there are other waits
    if (type == "unique_ids" || type == "exchange_counts") {
      fetched_[numbers].push_back(&node);
    } else if (type == "exchange_ids") {
      fetched_[ids].push_back(&node);
    } else if (type == "exchange_rows" || type == "find_rows" || type == "start_rows") {
      fetched_[rows].push_back(&node);
    } else if (type == "merge_rows") {
      merges_.push_back(&node);
    } else if (type == "unique_gradient" || type == "exchange_gradients" || is_exchange_of_gradients(node)) {
      sends_.push_back(&node);
    } else if (node.phase == Pass::update) {
      updates_.push_back(&node);
    } else {
      step_.push_back(&node);
    }
  }

  bool is_exchange_of_gradients(const Node& node) const {
    return node.phase == Pass::exchange && !(starts_sum(node) && root_name(node) == flat::statistics);
  }
  static bool starts_sum(const Node& node) { return node.op->type() == "all_reduce_start"; }
  const std::string& root_name(const Node& start) const { return graph_.value(graph_.root(start.inputs[0])).name; }

  /// Tables are updated within the step, with the norms that their updates need.
  void take_table_updates() {
    const auto is_of_table = [](const Node* node) { return node->op->type() == "sparse_update"; };
    const auto behind = std::find_if(updates_.rbegin(), updates_.rend(), is_of_table).base();
    table_updates_.assign(updates_.begin(), behind);
    updates_.erase(updates_.begin(), behind);
  }

  ValueId add_state(const std::string& prefix, ValueId of) {
    return to().add_state(prefix + graph_.value(of).name, graph_.desc(of));
  }

  /// What outlives the step has memory of its own.
  void keep_results() {
    for (const Nodes& stage : fetched_) {
      for (const Node* node : stage) {
        for (const ValueId output : node->outputs) next_[output] = keep("flat.grad.next.", output);
      }
    }
    for (const Node* node : merges_) {
      for (const int output : {MergeRows::rows, MergeRows::numbers, MergeRows::used})
        keep(delayed, node->outputs[static_cast<std::size_t>(output)]);
    }
    for (const Node* node : sends_) {
      if (!starts_sum(*node)) {
        for (const ValueId output : node->outputs) {
          if (graph_.value(output).base == no_value) keep(delayed, output);
        }
      } else if (const ValueId buffer = graph_.root(node->inputs[0]);
                 root_name(*node) != flat::grad_low_f32 && !sums_.contains(buffer)) {
        sums_[buffer] = add_state(delayed, buffer);
      }
    }
  }
  ValueId keep(const std::string& prefix, ValueId value) {
    const ValueId state = add_state(prefix, value);
    rewriter_.map(value, state);
    return state;
  }

  /// Copies what the end of the step reads of its own ids, before those of the next batch take their place.
  void keep_ids() {
    for (const Node* node : fetched_[numbers]) {
      if (node->op->type() != "unique_ids") continue;
      keep_copy(node->outputs[UniqueIds::inverse]);
      keep_copy(node->outputs[UniqueIds::counts]);
    }
    for (const Node* node : fetched_[ids]) keep_copy(node->outputs[ExchangeIds::received_counts]);
  }
  void keep_copy(ValueId value) {
    const auto op = std::make_shared<Reshape>(graph_.desc(value).shape);
    rewriter_.map(value, to().add(graph_.value(value).name + ".own", op, {next_.at(value)}));
  }

  void emit_step() {
    const bool looks_up = !fetched_[rows].empty();
    const auto [with_ids, with_rows] = find_moments();
    fetch(numbers);
    for (std::size_t i = 0; i <= step_.size(); ++i) {
      if (looks_up && i == with_ids) update_tables();
      if (looks_up && i == with_rows) {
        wait("fetch.wait.ids");
        fetch(rows);
      }
      if (i < step_.size()) rewriter_.copy(*step_[i]);
    }
  }

  /// The nodes before which ids and rows are sent: where such a part of the step's arithmetic is done as what is sent
  /// before has of all bytes, so that links are as busy throughout.
  std::pair<std::size_t, std::size_t> find_moments() const {
    const double before = count_bytes(sends_), of_ids = count_bytes(fetched_[ids]),
                 of_rows = count_bytes(fetched_[rows]);
    const double all = before + of_ids + of_rows;
    return {find_moment(before / all), std::max(find_moment((before + of_ids) / all), find_end_of_look_ups())};
  }

  /// The node behind the last one that reads this batch's rows, whose place the next batch's take.
  std::size_t find_end_of_look_ups() const {
    std::set<ValueId> own_rows;
    for (const Node* node : fetched_[rows]) {
      if (node->op->type() == "exchange_rows") own_rows.insert(node->outputs.begin(), node->outputs.end());
    }
    const auto looks_up = [&](const Node* node) {
      return std::ranges::any_of(node->inputs, [&](ValueId input) { return own_rows.contains(input); });
    };
    return static_cast<std::size_t>(std::find_if(step_.rbegin(), step_.rend(), looks_up).base() - step_.begin());
  }

  /// Bytes on the way to and from a rank; a sum goes there and back.
  double count_bytes(const Nodes& nodes) const {
    double bytes = 0;
    for (const Node* node : nodes) {
      if (starts_sum(*node)) {
        bytes += 2.0 * static_cast<double>(graph_.desc(node->inputs[0]).bytes());
      } else if (const auto* op = dynamic_cast<const RowExchangeOp*>(node->op.get())) {
        bytes += static_cast<double>(op->attrs().ids * op->bytes_of_id(graph_.output_descs(*node)));
      }
    }
    return bytes;
  }

  /// The node before which that part of the step's arithmetic is done.
  std::size_t find_moment(double part) const {
    const auto count = [this](const Node* node) {
      return node->op->cost(graph_.input_descs(*node), graph_.output_descs(*node)).flops;
    };
    double total = 0, done = 0;
    for (const Node* node : step_) total += count(node);
    std::size_t i = 0;
    while (i + 1 < step_.size() && done < part * total) done += count(step_[i++]);
    return i;
  }

  /// By the gradients of the step before, which have come by now, as have the numbers of ids.
  void update_tables() {
    wait("fetch.wait.counts");
    for (const Node* node : table_updates_) update(*node);
    for (const Node* node : merges_) emit_kept(*node, Pass::forward);
    fetch(ids);
  }

  void fetch(Stage stage) {
    for (const Node* node : fetched_[stage]) {
      std::vector<ValueId> inputs;
      for (const ValueId input : node->inputs) inputs.push_back(find_next(input));
      place(*node, to().add_node("next." + node->name, ahead(node->op), std::move(inputs), Pass::fetch));
    }
  }
  static OpPtr ahead(const OpPtr& op) {
    if (op->type() != "find_rows") return op;
    FindRowsAttributes attributes = static_cast<const FindRows&>(*op).attrs();
    attributes.ahead = true;
    return std::make_shared<FindRows>(attributes);
  }

  /// What a value is of the next batch.
  ValueId find_next(ValueId value) {
    if (value == no_value) return no_value;
    const Value& old = graph_.value(value);
    if (old.storage == Storage::parameter || old.storage == Storage::state) return rewriter_.mapped(value);
    if (const auto found = next_.find(value); found != next_.end()) return found->second;
    if (old.storage == Storage::input) return next_[value] = to().add_input(next_input + old.name, old.desc);
    const Node& node = graph_.node(old.producer);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(find_next(input));
    const std::vector<ValueId> outputs = to().add_node(next_input + node.name, node.op, std::move(inputs), Pass::fetch);
    for (std::size_t i = 0; i < outputs.size(); ++i) next_[node.outputs[i]] = outputs[i];
    return next_.at(value);
  }

  /// Makes the outputs of a node, which was `old`, lie in the memory of what outlives the step.
  void place(const Node& old, const std::vector<ValueId>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto next = next_.find(old.outputs[i]);
      const ValueId state = next != next_.end() ? next->second : rewriter_.mapped(old.outputs[i]);
      if (state != no_value) to().value(outputs[i]).base = state;
    }
  }

  void emit_kept(const Node& node, Pass phase) {
    place(node, to().add_node(node.name, node.op, rewriter_.mapped(node.inputs), phase));
  }

  void wait(std::string name) { to().add_node(std::move(name), std::make_shared<AllReduceWait>(), {}, Pass::fetch); }

  void update(const Node& node) {
    std::vector<ValueId> inputs = rewriter_.mapped(node.inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto sum = sums_.find(node.inputs[i]);
      if (sum != sums_.end()) inputs[i] = sum->second;
    }
    rewriter_.copy(node, std::move(inputs));
  }

  void send(const Node& node) {
    if (starts_sum(node) && root_name(node) != flat::grad_low_f32) {
      send_copy(node);
    } else if (node.phase == Pass::exchange) {
      rewriter_.copy(node);
    } else {
      emit_kept(node, Pass::exchange);
    }
  }

  void send_copy(const Node& start) {
    const ValueId part = start.inputs[0], sums = sums_.at(graph_.root(part));
    const TensorDesc& desc = graph_.desc(part);
    const std::int64_t begin = graph_.value(part).byte_offset / static_cast<std::int64_t>(element_size(desc.dtype));
    const std::string name = "copy." + graph_.value(part).name;
    const ValueId copy = to().add(name, std::make_shared<Cast>(desc.dtype), {rewriter_.mapped(part)}, Pass::exchange);
    to().place(copy, sums, begin);
    to().add_node(start.name, start.op, {to().add_part(sums, begin, begin + desc.count())}, Pass::exchange);
  }

  static constexpr const char* delayed = "flat.grad.delayed.";  // prefix of what is exchanged while the next step runs

  const Graph& graph_;
  Rewriter rewriter_;
  std::array<Nodes, stages> fetched_;
  Nodes step_, merges_, table_updates_, updates_, sends_;
  std::map<ValueId, ValueId> next_;  // of the old graph: what they are of the next batch
  std::map<ValueId, ValueId> sums_;  // by buffer of the old graph
};

}  // namespace

bool looks_ahead(const Graph& graph) {
  return std::ranges::any_of(graph.values(), [](const Value& value) {
    return value.storage == Storage::input && value.name.starts_with(next_input);
  });
}

Graph delay_updates(const Graph& graph) { return DelayedUpdates(graph).run(); }

}  // namespace ptrain
