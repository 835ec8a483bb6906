#include "core/passes/exchange_tables.h"

#include "core/ops/elementwise.h"
#include "core/ops/sparse/divided_table.h"
#include "core/ops/sparse/embedding_bag.h"
#include "core/ops/sparse/find_rows.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/text/embedding.h"
#include "core/ops/training/all_reduce.h"
#include "core/passes/exchange_unique_rows.h"

#include <map>

namespace ptrain {
namespace {

/// `shape` with a last axis of `width`.
Shape append_axis(const Shape& shape, std::int64_t width) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.push_back(width);
  return Shape(std::move(dims));
}

class TableExchange {
 public:
  TableExchange(const Graph& graph, const DistributionOptions& options)
      : graph_(graph), options_(options), rewriter_(graph) {}

  Graph run() {
    exchange();
    return rewriter_.finish();
  }
  Differentiated run(const std::vector<ParameterGradient>& gradients) {
    exchange();
    return rewriter_.finish(gradients);
  }

 private:
  /// A node and its inputs of all ranks.
  struct Gathered {
    const Node* node;
    std::vector<ValueId> inputs;
  };

  Graph& to() { return rewriter_.graph(); }

  void exchange() {
    if (options_.tables) divide_tables(graph_, *options_.tables, rewriter_);
    for (const Node& node : graph_.nodes()) {
      if (node.op->type() == "sparse_gradient") {
        gathered_.push_back(gather_gradient(node));
      } else if (options_.tables && reads_sparse_table(node)) {
        look_up(node);
      } else {
        rewriter_.copy(node);
      }
    }
    if (!waited_.empty()) {
      to().add_node("gather_tables.wait", std::make_shared<AllReduceWait>(), waited_, Pass::backward);
    }
    for (Gathered& gathered : gathered_) {
      rewriter_.copy(*gathered.node, std::move(gathered.inputs));
      if (options_.tables) number_rows(*gathered.node);
    }
  }

  Gathered gather_gradient(const Node& node) {
    // The mean over ranks; gradients that are summed in a fixed order are scaled for it from the start.
    const float factor = options_.reproducible ? 1.0f : 1.0f / static_cast<float>(options_.world_size);
    const ValueId ids = node.inputs[SparseGradient::ids];
    const auto found = ids_of_ranks_.find(ids);
    const ValueId all_ids = found != ids_of_ranks_.end() ? found->second : gather_in_backward(node.name + ".ids", ids);
    const ValueId dy = gather_in_backward(node.name + ".dy", node.inputs[SparseGradient::dy], factor);
    return {&node, {all_ids, dy}};
  }

  ValueId gather_in_backward(const std::string& name, ValueId own, std::optional<float> factor = {}) {
    const ValueId all = start_gather(name, own, Pass::backward, factor);
    waited_.push_back(all);
    return all;
  }

  /// A buffer of what all ranks have of a value, one after the other.
  ValueId add_buffer(const std::string& name, const TensorDesc& own) {
    std::vector<std::int64_t> dims = own.shape.dims();
    dims.front() *= options_.world_size;
    const TensorDesc all{own.dtype, Shape(std::move(dims))};
    return to().add_state(flat::gathered + name + all.shape.to_string(), all);
  }

  /// Makes a value this rank's part of a buffer.
  void place_own(ValueId own, ValueId all) {
    to().value(own).base = all;
    to().value(own).byte_offset = static_cast<std::int64_t>(to().desc(own).bytes()) * options_.rank;
  }

  /// Starts to gather a value, times `factor` if there is one, of all ranks.
  ValueId start_gather(const std::string& name, ValueId own, Pass phase, std::optional<float> factor) {
    const ValueId value = rewriter_.mapped(own);
    const TensorDesc desc = to().desc(value);
    const ValueId all = add_buffer(name, desc);
    const OpPtr copy = factor ? OpPtr(std::make_shared<Scale>(*factor)) : std::make_shared<Reshape>(desc.shape);
    place_own(to().add(name + ".own", copy, {value}, phase), all);
    to().add_node(name + ".gather", std::make_shared<AllGatherStart>(), {all}, phase);
    return all;
  }

  void wait(const std::string& name, ValueId started, Pass phase) {
    to().add_node(name + ".wait", std::make_shared<AllReduceWait>(), {started}, phase);
  }

  /// The ids of all ranks as numbers of this rank's rows.
  ValueId find_local_rows(ValueId ids, Pass phase) {
    const auto found = local_rows_.find(ids);
    if (found != local_rows_.end()) return found->second;
    const std::string name = graph_.value(ids).name + ".of_ranks";
    const ValueId all = start_gather(name, ids, phase, {});
    wait(name, all, phase);
    ids_of_ranks_[ids] = all;
    return local_rows_[ids] = to().add(name + ".local", std::make_shared<LocalRows>(*options_.tables), {all}, phase);
  }

  void look_up(const Node& node) {
    const ValueId ids = node.inputs[Embedding::ids], table = rewriter_.mapped(node.inputs[Embedding::table]);
    const ValueId local = find_local_rows(ids, node.phase);
    const TensorDesc own{DType::f32, append_axis(graph_.desc(ids).shape, to().desc(table).shape[1])};
    const ValueId all = add_buffer(node.name, own);
    const ValueId looked_up = to().add(node.name, std::make_shared<Embedding>(), {local, table}, node.phase);
    to().value(looked_up).base = all;
    to().add_node(node.name + ".scatter", std::make_shared<ReduceScatterStart>(1.0f), {all}, node.phase);
    wait(node.name, all, node.phase);
    ValueId y = to().add_state(to().value(all).name + ".own", own);
    place_own(y, all);
    if (node.op->type() == "embedding_bag") {
      y = to().add(node.name + ".sum", std::make_shared<SumBags>(), {y}, node.phase);
    }
    rewriter_.map(node.outputs[0], y);
  }

  /// Replaces the rows of a sparse gradient by their numbers on this rank.
  void number_rows(const Node& node) {
    const ValueId rows = node.outputs[SparseGradient::rows];
    const std::string name = graph_.value(rows).name + ".local";
    const auto op = std::make_shared<LocalRows>(*options_.tables);
    rewriter_.map(rows, to().add(name, op, {rewriter_.mapped(rows)}, Pass::backward));
  }

  const Graph& graph_;
  const DistributionOptions& options_;
  Rewriter rewriter_;
  std::vector<Gathered> gathered_;
  std::vector<ValueId> waited_;
  std::map<ValueId, ValueId> ids_of_ranks_, local_rows_;  // by a look-up's ids
};

bool travels_once(const DistributionOptions& options) { return options.tables && !options.reproducible; }

}  // namespace

bool reads_sparse_table(const Node& node) {
  const std::string_view type = node.op->type();
  if (type == "embedding") {
    return static_cast<const Embedding&>(*node.op).table_gradient() == TableGradient::sparse;
  }
  return type == "embedding_bag" &&
         static_cast<const EmbeddingBag&>(*node.op).table_gradient() == TableGradient::sparse;
}

RowShard choose_shard(const Graph& graph, ValueId ids, RowShard shard) {
  const NodeId producer = graph.value(ids).producer;
  shard.by_key = producer >= 0 && graph.node(producer).op->type() == "find_rows";
  return shard;
}

void divide_tables(const Graph& graph, const RowShard& shard, Rewriter& rewriter) {
  const auto resize = [&](ValueId variable, Shape shape) {
    if (variable != no_value) rewriter.graph().value(rewriter.mapped(variable)).desc.shape = std::move(shape);
  };
  for (const Node& node : graph.nodes()) {
    if (reads_sparse_table(node)) {
      const ValueId table = node.inputs[Embedding::table];
      const Shape& whole = graph.desc(table).shape;
      resize(table, Shape{choose_shard(graph, node.inputs[Embedding::ids], shard).size(whole[0]), whole[1]});
    } else if (node.op->type() == "find_rows") {
      const std::vector<ValueId>& index = node.inputs;
      const RowShard by_key = choose_shard(graph, node.outputs[FindRows::rows], shard);
      const std::int64_t rows = by_key.size(graph.desc(index[FindRows::index_keys]).shape[0]);
      for (const int of_rows : {FindRows::index_keys, FindRows::scores, FindRows::freed}) {
        resize(index[static_cast<std::size_t>(of_rows)], Shape{rows});
      }
      resize(index[FindRows::slots], Shape{RowIndex::slots_for(rows)});
      resize(index[FindRows::seen], Shape{RowIndex::counters_for(rows)});
    }
  }
}

Differentiated exchange_tables(const Differentiated& differentiated, const DistributionOptions& options) {
  if (travels_once(options)) return exchange_unique_rows(differentiated, options);
  return TableExchange(differentiated.graph, options).run(differentiated.gradients);
}

Graph exchange_tables(const Graph& graph, const DistributionOptions& options) {
  if (travels_once(options)) return exchange_unique_rows(graph, options);
  return TableExchange(graph, options).run();
}

}  // namespace ptrain
