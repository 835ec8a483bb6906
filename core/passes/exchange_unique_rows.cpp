#include "core/passes/exchange_unique_rows.h"

#include "core/ops/sparse/exchanged_rows.h"
#include "core/ops/sparse/find_rows.h"
#include "core/ops/text/embedding.h"
#include "core/passes/rewriter.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ptrain {
namespace {

class UniqueRowExchange {
 public:
  UniqueRowExchange(const Graph& graph, const DistributionOptions& options)
      : graph_(graph), options_(options), rewriter_(graph) {}

  Graph run() {
    exchange();
    return rewriter_.finish();
  }

  Differentiated run(const std::vector<ParameterGradient>& gradients) {
    for (const ParameterGradient& gradient : gradients) tables_[gradient.gradient] = gradient.parameter;
    exchange();
    Differentiated differentiated = rewriter_.finish(gradients);
    for (ParameterGradient& gradient : differentiated.gradients) {
      const auto found = used_.find(gradient.gradient);
      if (found != used_.end()) gradient.used = found->second;
    }
    return differentiated;
  }

 private:
  /// The different ids of a batch, and those that this rank is asked for.
  struct Ids {
    RowExchange sizes;
    ValueId inverse = no_value, unique = no_value, counts = no_value;
    ValueId received = no_value, received_counts = no_value;       // of keys: the rows that they have here
    ValueId rows = no_value, numbers = no_value, used = no_value;  // of a gradient
    std::map<ValueId, ValueId> looked_up = {};                     // by table of the old graph: its rows
  };
  /// Ids, and the rows that each rank has of the table.
  using IdsKey = std::pair<ValueId, std::int64_t>;

  Graph& to() { return rewriter_.graph(); }

  void exchange() {
    divide_tables(graph_, *options_.tables, rewriter_);
    for (const Node& node : graph_.nodes()) {
      if (node.op->type() == "sparse_gradient") {
        send_gradient(node);
      } else if (reads_sparse_table(node)) {
        look_up(node);
      } else if (node.op->type() == "find_rows") {
        find_rows(node);
      } else if (node.op->type() != "start_rows") {  // those are with find_rows
        rewriter_.copy(node);
      }
    }
    if (!waited_.empty()) wait("exchange_gradients", waited_, Pass::backward);
  }

  /// Waits for exchanges of these values.
  void wait(const std::string& name, std::vector<ValueId> values, Pass phase) {
    to().add_node(name + ".wait", std::make_shared<ExchangeWait>(), std::move(values), phase);
  }

  /// Adds an op that starts an exchange. Returns the outputs, and appends them and the inputs to `waited`.
  std::vector<ValueId> start(const std::string& name, OpPtr op, const std::vector<ValueId>& inputs, Pass phase,
                             std::vector<ValueId>& waited) {
    std::vector<ValueId> outputs = to().add_node(name, std::move(op), inputs, phase);
    std::ranges::copy_if(inputs, std::back_inserter(waited), [](ValueId input) { return input != no_value; });
    waited.insert(waited.end(), outputs.begin(), outputs.end());
    return outputs;
  }

  std::vector<ValueId> start_and_wait(const std::string& name, OpPtr op, const std::vector<ValueId>& inputs,
                                      Pass phase) {
    std::vector<ValueId> waited;
    std::vector<ValueId> outputs = start(name, std::move(op), inputs, phase, waited);
    wait(name, std::move(waited), phase);
    return outputs;
  }

  IdsKey find_key(ValueId ids, ValueId table) { return {ids, to().desc(rewriter_.mapped(table)).shape[0]}; }
  IdsKey key_of_look_up(const Node& node) {
    return find_key(node.inputs[Embedding::ids], node.inputs[Embedding::table]);
  }
  IdsKey key_of_gradient(const Node& node) {
    return find_key(node.inputs[SparseGradient::ids], tables_.at(node.outputs[SparseGradient::values]));
  }

  Ids& exchange_ids(const IdsKey& key, Pass phase) {
    const auto [found, is_new] = ids_.try_emplace(key);
    const auto& [ids, rows] = key;
    if (is_new) found->second = send_ids(ids, {*options_.tables, graph_.desc(ids).count(), rows}, phase);
    return found->second;
  }

  Ids send_ids(ValueId ids, const RowExchange& sizes, Pass phase) {
    Ids exchanged{.sizes = sizes};
    const std::string name = graph_.value(ids).name;
    const std::vector<ValueId> unique =
        to().add_node(name + ".unique", std::make_shared<UniqueIds>(sizes.shard), {rewriter_.mapped(ids)}, phase);
    exchanged.inverse = unique[UniqueIds::inverse];
    exchanged.unique = unique[UniqueIds::unique];
    exchanged.counts = unique[UniqueIds::counts];
    const ValueId heard = start_and_wait(name + ".counts", std::make_shared<ExchangeCounts>(exchanged.sizes),
                                         {exchanged.counts}, phase)[ExchangeCounts::heard];
    const std::vector<ValueId> received =
        start_and_wait(name + ".exchange", std::make_shared<ExchangeIds>(exchanged.sizes),
                       {exchanged.unique, exchanged.counts, heard}, phase);
    exchanged.received = received[ExchangeIds::received];
    exchanged.received_counts = received[ExchangeIds::received_counts];
    return exchanged;
  }

  /// Finds the rows of keys on the ranks that have them.
  void find_rows(const Node& node) {
    const ValueId keys = node.inputs[FindRows::keys], rows = node.outputs[FindRows::rows];
    FindRowsAttributes attributes = static_cast<const FindRows&>(*node.op).attrs();
    attributes.shard = choose_shard(graph_, rows, *options_.tables);
    const std::int64_t own_rows = to().desc(rewriter_.mapped(node.inputs[FindRows::index_keys])).shape[0];
    Ids ids = send_ids(keys, {attributes.shard, graph_.desc(keys).count(), own_rows}, node.phase);
    std::vector<ValueId> inputs = rewriter_.mapped(node.inputs);
    inputs.resize(FindRows::input_count, no_value);
    inputs[FindRows::keys] = ids.received;
    inputs[FindRows::received_counts] = ids.received_counts;
    const std::vector<ValueId> found =
        to().add_node(node.name, std::make_shared<FindRows>(attributes), inputs, node.phase);
    const ValueId received_keys = ids.received;
    ids.received = found[FindRows::rows];
    const bool may_lack_rows = !attributes.inserts || attributes.admit_after > 1;
    rewriter_.map(rows, may_lack_rows && has_other_readers(rows) ? find_known(node, ids) : ids.inverse);
    ids_[{rows, own_rows}] = ids;
    if (!attributes.inserts) return;
    for (const Node& start : graph_.nodes()) {
      if (start.op->type() == "start_rows" && start.inputs[StartRows::fresh] == node.outputs[FindRows::fresh]) {
        rewriter_.copy(start, {found[FindRows::fresh], received_keys, rewriter_.mapped(start.inputs[StartRows::table]),
                               ids.received_counts});
      }
    }
  }

  /// The numbers of a batch's keys among the different ones, -1 for those without a row.
  ValueId find_known(const Node& node, const Ids& ids) {
    const std::string name = node.name + ".known";
    const std::vector<ValueId> known =
        start_and_wait(name, std::make_shared<ExchangeRows>(ids.sizes),
                       {ids.counts, ids.received, ids.received_counts, no_value}, node.phase);
    return to().add(name + ".ids", std::make_shared<KnownIds>(), {ids.inverse, known.front()}, node.phase);
  }

  /// Whether others than look-ups and their gradients read ids.
  bool has_other_readers(ValueId ids) const {
    return std::ranges::any_of(graph_.nodes(), [&](const Node& node) {
      const bool is_look_up = reads_sparse_table(node) || node.op->type() == "sparse_gradient";
      return !is_look_up && std::ranges::count(node.inputs, ids) > 0;
    });
  }

  void look_up(const Node& node) {
    Ids& ids = exchange_ids(key_of_look_up(node), node.phase);
    if (ids.looked_up.empty()) exchange_rows(node, ids);
    rewriter_.copy(node, {ids.inverse, ids.looked_up.at(node.inputs[Embedding::table])});
  }

  /// Of all tables that are read by a look-up's ids.
  void exchange_rows(const Node& first, Ids& ids) {
    std::vector<ValueId> inputs{ids.counts, ids.received, ids.received_counts}, tables;
    const IdsKey key = key_of_look_up(first);
    for (const Node& node : graph_.nodes()) {
      if (!reads_sparse_table(node) || key_of_look_up(node) != key) continue;
      const ValueId table = node.inputs[Embedding::table];
      if (!ids.looked_up.try_emplace(table, no_value).second) continue;
      tables.push_back(table);
      inputs.push_back(rewriter_.mapped(table));
    }
    const std::vector<ValueId> rows =
        start_and_wait(first.name + ".rows", std::make_shared<ExchangeRows>(ids.sizes), inputs, first.phase);
    for (std::size_t i = 0; i < tables.size(); ++i) ids.looked_up.at(tables[i]) = rows[i];
  }

  void merge_rows(Ids& ids, const std::string& name) {
    if (ids.rows != no_value) return;
    const std::vector<ValueId> merged = to().add_node(name, std::make_shared<MergeRows>(ids.sizes),
                                                      {ids.received, ids.received_counts}, Pass::backward);
    ids.rows = merged[MergeRows::rows];
    ids.numbers = merged[MergeRows::numbers];
    ids.used = merged[MergeRows::used];
  }

  /// Sends the gradients of all tables that are read by the same ids together, when backward has the last.
  void send_gradient(const Node& node) {
    const IdsKey key = key_of_gradient(node);
    std::vector<const Node*> together;
    for (const Node& other : graph_.nodes()) {
      if (other.op->type() == "sparse_gradient" && key_of_gradient(other) == key) together.push_back(&other);
    }
    if (&node == together.back())
      send_gradients(together, graph_.value(key.first).name, exchange_ids(key, Pass::backward));
  }

  void send_gradients(std::span<const Node* const> gradients, const std::string& name, Ids& ids) {
    merge_rows(ids, name + ".merge");
    std::vector<ValueId> inputs{ids.counts, ids.received_counts, ids.numbers, ids.used};
    for (const Node* node : gradients) {
      const auto own = std::make_shared<UniqueGradient>(1.0f / static_cast<float>(options_.world_size));  // of the mean
      const ValueId dy = rewriter_.mapped(node->inputs[SparseGradient::dy]);
      inputs.push_back(to().add(node->name, own, {ids.inverse, ids.counts, dy}, Pass::backward));
    }
    const std::vector<ValueId> sums =
        start(name + ".gradients", std::make_shared<ExchangeGradients>(ids.sizes), inputs, Pass::backward, waited_);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      rewriter_.map(gradients[i]->outputs[SparseGradient::rows], ids.rows);
      rewriter_.map(gradients[i]->outputs[SparseGradient::values], sums[i]);
      used_[sums[i]] = ids.used;
    }
  }

  const Graph& graph_;
  const DistributionOptions& options_;
  Rewriter rewriter_;
  std::map<IdsKey, Ids> ids_;
  std::map<ValueId, ValueId> tables_;  // of the old graph, by their gradients
  std::map<ValueId, ValueId> used_;    // by a gradient of the new graph
  std::vector<ValueId> waited_;        // of the exchanges of gradients
};

}  // namespace

Differentiated exchange_unique_rows(const Differentiated& differentiated, const DistributionOptions& options) {
  return UniqueRowExchange(differentiated.graph, options).run(differentiated.gradients);
}

Graph exchange_unique_rows(const Graph& graph, const DistributionOptions& options) {
  return UniqueRowExchange(graph, options).run();
}

}  // namespace ptrain
