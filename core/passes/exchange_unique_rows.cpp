#include "core/passes/exchange_unique_rows.h"

#include "core/ops/sparse/exchanged_rows.h"
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
    ValueId inverse, unique, counts, received, received_counts;
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
    waited.insert(waited.end(), inputs.begin(), inputs.end());
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
    Ids& exchanged = found->second;
    if (!is_new) return exchanged;
    const std::string name = graph_.value(ids).name;
    const std::vector<ValueId> unique =
        to().add_node(name + ".unique", std::make_shared<UniqueIds>(*options_.tables), {rewriter_.mapped(ids)}, phase);
    exchanged.sizes = {*options_.tables, graph_.desc(ids).count(), rows};
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
