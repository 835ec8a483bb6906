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
      } else if (node.op->type() == "start_rows") {
        start_rows(node);
      } else {
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

  /// Of a look-up's ids in a table.
  Ids& exchange_ids(ValueId ids, ValueId table, Pass phase) {
    const std::int64_t rows = to().desc(rewriter_.mapped(table)).shape[0];
    const auto [found, is_new] = ids_.try_emplace({ids, rows});
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
    if (attributes.inserts) {
      rewriter_.map(node.outputs[FindRows::fresh], found[FindRows::fresh]);
      received_keys_[node.outputs[FindRows::fresh]] = {ids.received, ids.received_counts};
    }
    ids.received = found[FindRows::rows];
    const bool may_lack_rows = !attributes.inserts || attributes.admit_after > 1;
    rewriter_.map(rows, may_lack_rows && has_other_readers(rows) ? find_known(node, ids) : ids.inverse);
    ids_[{rows, own_rows}] = ids;
  }

  /// The numbers of a batch's keys among the different ones, -1 for those without a row.
  ValueId find_known(const Node& node, const Ids& ids) {
    const std::string name = node.name + ".known";
    const std::vector<ValueId> known =
        start_and_wait(name, std::make_shared<ExchangeRows>(ids.sizes),
                       {no_value, ids.counts, ids.received, ids.received_counts}, node.phase);
    return to().add(name + ".ids", std::make_shared<KnownIds>(), {ids.inverse, known[ExchangeRows::rows]}, node.phase);
  }

  /// Whether others than look-ups and their gradients read ids.
  bool has_other_readers(ValueId ids) const {
    return std::ranges::any_of(graph_.nodes(), [&](const Node& node) {
      const bool is_look_up = reads_sparse_table(node) || node.op->type() == "sparse_gradient";
      return !is_look_up && std::ranges::count(node.inputs, ids) > 0;
    });
  }

  void start_rows(const Node& node) {
    const auto& [keys, counts] = received_keys_.at(node.inputs[StartRows::fresh]);
    const ValueId fresh = rewriter_.mapped(node.inputs[StartRows::fresh]);
    rewriter_.copy(node, {fresh, keys, rewriter_.mapped(node.inputs[StartRows::table]), counts});
  }

  void look_up(const Node& node) {
    const ValueId table = node.inputs[Embedding::table];
    const Ids& ids = exchange_ids(node.inputs[Embedding::ids], table, node.phase);
    const std::vector<ValueId> exchanged =
        start_and_wait(node.name + ".rows", std::make_shared<ExchangeRows>(ids.sizes),
                       {rewriter_.mapped(table), ids.counts, ids.received, ids.received_counts}, node.phase);
    rewriter_.copy(node, {ids.inverse, exchanged[ExchangeRows::rows]});
  }

  void merge_rows(Ids& ids, const std::string& name) {
    if (ids.rows != no_value) return;
    const std::vector<ValueId> merged = to().add_node(name, std::make_shared<MergeRows>(ids.sizes),
                                                      {ids.received, ids.received_counts}, Pass::backward);
    ids.rows = merged[MergeRows::rows];
    ids.numbers = merged[MergeRows::numbers];
    ids.used = merged[MergeRows::used];
  }

  void send_gradient(const Node& node) {
    const ValueId read = node.inputs[SparseGradient::ids], gradient = node.outputs[SparseGradient::values];
    Ids& ids = exchange_ids(read, tables_.at(gradient), Pass::backward);
    merge_rows(ids, graph_.value(read).name + ".merge");
    const auto own = std::make_shared<UniqueGradient>(1.0f / static_cast<float>(options_.world_size));  // of the mean
    const ValueId dy = rewriter_.mapped(node.inputs[SparseGradient::dy]);
    const ValueId sums = to().add(node.name, own, {ids.inverse, ids.counts, dy}, Pass::backward);
    const std::vector<ValueId> outputs =
        start(node.name + ".exchange", std::make_shared<ExchangeGradient>(ids.sizes),
              {sums, ids.counts, ids.received_counts, ids.numbers, ids.used}, Pass::backward, waited_);
    rewriter_.map(node.outputs[SparseGradient::rows], ids.rows);
    rewriter_.map(gradient, outputs[ExchangeGradient::values]);
    used_[outputs[ExchangeGradient::values]] = ids.used;
  }

  const Graph& graph_;
  const DistributionOptions& options_;
  Rewriter rewriter_;
  std::map<IdsKey, Ids> ids_;
  std::map<ValueId, ValueId> tables_;                             // of the old graph, by their gradients
  std::map<ValueId, ValueId> used_;                               // by a gradient of the new graph
  std::map<ValueId, std::pair<ValueId, ValueId>> received_keys_;  // and their counts, by the old graph's fresh rows
  std::vector<ValueId> waited_;                                   // of the exchanges of gradients
};

}  // namespace

Differentiated exchange_unique_rows(const Differentiated& differentiated, const DistributionOptions& options) {
  return UniqueRowExchange(differentiated.graph, options).run(differentiated.gradients);
}

Graph exchange_unique_rows(const Graph& graph, const DistributionOptions& options) {
  return UniqueRowExchange(graph, options).run();
}

}  // namespace ptrain
