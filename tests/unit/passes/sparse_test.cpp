// Tables that are updated by rows: where they and their gradients lie, and what of a step costs by the batch alone.
#include "core/passes/optimizer.h"

#include "core/ops/sparse/embedding_bag.h"
#include "core/ops/sparse/sparse_update.h"
#include "core/ops/text/embedding.h"
#include "core/passes/memory_plan.h"
#include "models/clicks/click_model.h"
#include "tests/error_message.h"
#include "tests/small_models.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

constexpr std::int64_t batch = 8, words = 26, embedding = 9;

Graph forward(std::int64_t hash_buckets) {
  ClickSpec spec;
  spec.hash_buckets = hash_buckets;
  return with_losses(*make_click_model(spec), batch, Mode::training, "clicks");
}

Graph trained(std::int64_t hash_buckets, PipelineOptions options = training_pipeline(AmpLevel::O0)) {
  return build_training_graph(forward(hash_buckets), options).graph;
}

PipelineOptions adamw(AmpLevel level = AmpLevel::O0) {
  PipelineOptions options = training_pipeline(level);
  options.optimizer.kind = OptimizerKind::adamw;
  return options;
}

std::vector<const Node*> row_updates(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes()) {
    if (node.op->type() == "sparse_update") nodes.push_back(&node);
  }
  return nodes;
}

TEST(SparseTables, LieApartFromTheFlatBuffersWithTheirMoments) {
  for (const AmpLevel level : all_levels) {
    const Graph graph = trained(700, adamw(level));
    for (const char* name : {"wide.words.weight", "deep.words.weight"}) {
      const ValueId table = graph.find_value(name);
      const Value& base = graph.value(graph.value(table).base);
      EXPECT_EQ(base.name, std::string(flat::table) + name);
      EXPECT_EQ(base.storage, Storage::state);
      EXPECT_EQ(base.desc, graph.desc(table));
      for (const char* moment : {flat::moment1, flat::moment2}) {
        const ValueId of_table = graph.find_value(std::string(moment) + "." + name);
        ASSERT_NE(of_table, no_value);
        EXPECT_EQ(graph.desc(of_table), graph.desc(table));
      }
    }
    EXPECT_LT(graph.desc(graph.find_value(flat::master)).count(), 400'000) << "the layers, without a table";
  }
}

TEST(SparseTables, HaveGradientsOfRowsAmongTheFlatOnes) {
  const Graph graph = trained(1'000'000, adamw());
  EXPECT_EQ(node_types(graph)["embedding_grad"], 0);
  const std::vector<const Node*> updates = row_updates(graph);
  ASSERT_EQ(updates.size(), 2u);
  std::int64_t widths = 0;
  for (const Node* update : updates) {
    const Value& values = graph.value(update->inputs[SparseUpdate::values]);
    EXPECT_EQ(values.desc.shape[0], batch * words);
    EXPECT_EQ(values.base, graph.find_value(flat::grad)) << "the norm and the search for infinities read it";
    widths += values.desc.shape[1];
    EXPECT_EQ(update->phase, Pass::update);
  }
  EXPECT_EQ(widths, 1 + embedding);
  EXPECT_EQ(graph.nodes().back().op->type(), "optimizer_update") << "which counts the update, is last";
}

TEST(SparseTables, CostNothingByTheirSizeButTheirMemory) {
  const Graph small = trained(100'000, adamw()), large = trained(1'000'000, adamw());
  EXPECT_EQ(plan_memory(small, MemoryReuse::on).arena_bytes, plan_memory(large, MemoryReuse::on).arena_bytes);
  std::int64_t grown = 0;
  ASSERT_EQ(small.values().size(), large.values().size());
  for (std::size_t i = 0; i < small.values().size(); ++i) {
    if (small.values()[i].base != no_value || small.values()[i].storage == Storage::activation) continue;
    grown += static_cast<std::int64_t>(large.values()[i].desc.bytes() - small.values()[i].desc.bytes());
  }
  EXPECT_EQ(grown, 900'000 * (1 + embedding) * 3 * 4) << "the table and two moments";
  for (std::size_t i = 0; i < small.nodes().size(); ++i) {
    const Node &a = small.nodes()[i], &b = large.nodes()[i];
    EXPECT_EQ(a.op->cost(small.input_descs(a), small.output_descs(a)).bytes,
              b.op->cost(large.input_descs(b), large.output_descs(b)).bytes)
        << a.name;
  }
}

TEST(SparseTables, RefuseWhatTakesAllRows) {
  const auto refused = [](const std::function<void(PipelineOptions&)>& change) {
    PipelineOptions options = adamw();
    change(options);
    return get_error([&] { trained(100, options); }, ExitCode::usage);
  };
  EXPECT_NE(refused([](auto& o) { o.optimizer.kind = OptimizerKind::lamb; }).find("train.optimizer.name: lamb"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.accumulate_steps = 2; }).find("train.accumulate_steps"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.average_decay = 0.9f; }).find("train.ema_decay"), std::string::npos);
}

TEST(SparseTables, HaveGradientsOfAllRanks) {
  constexpr int ranks = 4;
  for (const bool shard : {false, true}) {
    SCOPED_TRACE(shard);
    PipelineOptions options = adamw();
    options.distribution = DistributionOptions{.rank = 1, .world_size = ranks, .bucket_bytes = 64 << 10};
    if (shard) options.distribution->shard = Shard{1, ranks, 16 << 10};
    const Graph graph = trained(1000, options);
    const auto gathers = [&graph](ValueId id) {
      return std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
        return node.op->type() == "all_gather_start" && node.inputs[0] == id;
      });
    };
    std::int64_t exchanged = 0;
    for (const Node& node : graph.nodes()) {
      if (!node.op->type().starts_with("all_reduce_start") && node.op->type() != "reduce_scatter_start") continue;
      exchanged += graph.desc(node.inputs[0]).count();
    }
    std::int64_t dense = graph.desc(graph.find_value(flat::grad)).count();
    const std::vector<const Node*> updates = row_updates(graph);
    ASSERT_EQ(updates.size(), 2u);
    for (const Node* update : updates) {
      const Value& values = graph.value(update->inputs[SparseUpdate::values]);
      const Node& gradient = graph.nodes()[static_cast<std::size_t>(values.producer)];
      for (const ValueId of_ranks : gradient.inputs) {
        EXPECT_EQ(graph.desc(of_ranks).shape[0], ranks * batch);
        EXPECT_EQ(gathers(of_ranks), 1);
        const auto own = std::find_if(graph.values().begin(), graph.values().end(), [&](const Value& value) {
          return value.base == of_ranks && value.producer >= 0;
        });
        ASSERT_NE(own, graph.values().end());
        EXPECT_EQ(own->byte_offset * ranks, static_cast<std::int64_t>(graph.desc(of_ranks).bytes()));
      }
      EXPECT_EQ(values.desc.shape[0], ranks * batch * words);
      dense = std::min(dense, values.byte_offset / static_cast<std::int64_t>(sizeof(float)));
    }
    EXPECT_EQ(exchanged, dense) << "what is gathered is not summed over ranks too";
  }
}

TEST(SparseTables, MayBeDividedAmongRanks) {
  constexpr int ranks = 4;
  PipelineOptions options = adamw();
  options.distribution = DistributionOptions{.rank = 1, .world_size = ranks};
  options.distribution->tables = RowShard{1, ranks};
  options.distribution->reproducible = true;
  const Graph graph = trained(1001, options);
  for (const auto& [table, width] :
       {std::pair("wide.words.weight", std::int64_t{1}), std::pair("deep.words.weight", embedding)}) {
    const TensorDesc own{DType::f32, Shape{251, width}};
    EXPECT_EQ(graph.desc(graph.find_value(table)), own);
    EXPECT_EQ(graph.desc(graph.find_value(std::string(flat::table) + table)), own);
    EXPECT_EQ(graph.desc(graph.find_value(fmt::format("{}.{}", flat::moment2, table))), own);
  }
  EXPECT_EQ(node_types(graph)["reduce_scatter_start"], 2) << "a look-up of each table";
  EXPECT_EQ(node_types(graph)["all_gather_start"], 3) << "ids once, and the gradients of both look-ups";
  for (const Node* update : row_updates(graph)) {
    const Value& numbers = graph.value(update->inputs[SparseUpdate::rows]);
    EXPECT_EQ(graph.node(numbers.producer).op->type(), "local_rows");
    EXPECT_EQ(numbers.desc.shape[0], ranks * batch * words) << "the norm is of all rows";
  }
  const Graph evaluation = build_evaluation_graph(forward(1001), options).graph;
  EXPECT_EQ(evaluation.desc(evaluation.find_value("deep.words.weight")).shape[0], 251);
  EXPECT_EQ(node_types(evaluation)["reduce_scatter_start"], 2);
}

TEST(SparseTables, OfWhichRanksHaveRowsTravelOnce) {
  constexpr int ranks = 4;
  PipelineOptions options = adamw();
  options.optimizer.clip_norm = 1;
  options.distribution = DistributionOptions{.rank = 1, .world_size = ranks};
  options.distribution->tables = RowShard{1, ranks};
  const Graph graph = trained(1001, options);
  EXPECT_EQ(graph.desc(graph.find_value("deep.words.weight")), (TensorDesc{DType::f32, Shape{251, embedding}}));
  auto types = node_types(graph);
  EXPECT_EQ(types["unique_ids"], 1) << "both tables have the same ids";
  EXPECT_EQ(types["exchange_counts"], 1);
  EXPECT_EQ(types["exchange_ids"], 1);
  EXPECT_EQ(types["exchange_rows"], 1);
  EXPECT_EQ(types["merge_rows"], 1);
  EXPECT_EQ(types["exchange_gradients"], 1);
  EXPECT_EQ(types["exchange_wait"], 4) << "of the gradients once, at the end of backward";
  EXPECT_EQ(types["rows_norm"], 2);
  EXPECT_EQ(types["norm_of_parts"], 1);
  EXPECT_EQ(types["all_gather_start"], 1) << "norms of the tables";
  EXPECT_EQ(types["sparse_gradient"], 0);
  for (const Node* update : row_updates(graph)) {
    const Value& values = graph.value(update->inputs[SparseUpdate::values]);
    EXPECT_EQ(values.base, no_value) << "of this rank alone, it is no flat gradient";
    EXPECT_EQ(values.desc.shape[0], 251) << "no more than the rank's rows, however many ranks there are";
  }
  const auto evaluation = node_types(build_evaluation_graph(forward(1001), options).graph);
  EXPECT_EQ(evaluation.at("exchange_ids"), 1);
  EXPECT_EQ(evaluation.at("exchange_rows"), 1);
}

/// Otherwise the memory plan would give their memory to others.
TEST(SparseTables, KeepWhatExchangesReadAndWriteUntilTheyEnd) {
  PipelineOptions options = adamw();
  options.distribution = DistributionOptions{.rank = 1, .world_size = 4};
  options.distribution->tables = RowShard{1, 4};
  const Graph graph = trained(1001, options);
  const auto& nodes = graph.nodes();
  int exchanges = 0;
  for (auto start = nodes.begin(); start != nodes.end(); ++start) {
    const std::string_view type = start->op->type();
    if (!type.starts_with("exchange_") || type == "exchange_wait") continue;
    ++exchanges;
    const auto wait =
        std::find_if(start, nodes.end(), [](const Node& node) { return node.op->type() == "exchange_wait"; });
    ASSERT_NE(wait, nodes.end());
    for (const auto* values : {&start->inputs, &start->outputs}) {
      for (const ValueId value : *values) {
        EXPECT_EQ(std::ranges::count(wait->inputs, value) > 0, true) << start->name << ", " << graph.value(value).name;
      }
    }
    if (type == "exchange_gradients") continue;
    EXPECT_EQ(wait, start + 1) << "what the next nodes read has come";
  }
  EXPECT_EQ(exchanges, 4);
}

/// What lacks a row is asked for only where others than look-ups read the ids, and keys may lack one.
TEST(SparseTables, OfKeysHaveTheirRowsFoundByTheRanksThatHaveThem) {
  ClickSpec spec;
  spec.hash_buckets = 1'000'000;
  spec.bag_size = 3;
  PipelineOptions options = adamw();
  options.distribution = DistributionOptions{.rank = 1, .world_size = 4};
  options.distribution->tables = RowShard{1, 4};
  for (const BagMode bag : {BagMode::sum, BagMode::mean}) {
    for (const std::int64_t admit_after : {1, 2}) {
      spec.bag = bag;
      spec.dynamic_table =
          FindRowsAttributes{.inserts = true, .admit_after = admit_after, .sweep = RowSweep{5, 0.5, 1}};
      const auto build = [&](Mode mode) { return with_losses(*make_click_model(spec), batch, mode, "clicks"); };
      const Graph graph = build_training_graph(build(Mode::training), options).graph;
      constexpr std::int64_t rows = 250'000 + 5'000 + 1024;
      for (const char* name : {row_index::keys, row_index::scores, row_index::freed}) {
        EXPECT_EQ(graph.desc(graph.find_value(name)).shape, Shape{rows}) << name;
      }
      EXPECT_EQ(graph.desc(graph.find_value(row_index::slots)).count(), RowIndex::slots_for(rows));
      EXPECT_EQ(graph.desc(graph.find_value("deep.words.weight")), (TensorDesc{DType::f32, Shape{rows, embedding}}));
      auto types = node_types(graph);
      EXPECT_EQ(types["exchange_ids"], 1);
      EXPECT_EQ(types["start_rows"], 2 + 4) << "tables and their moments";
      EXPECT_EQ(types["known_ids"], bag == BagMode::mean && admit_after > 1 ? 1 : 0);
      auto evaluation = node_types(build_evaluation_graph(build(Mode::evaluation), options).graph);
      EXPECT_EQ(evaluation["exchange_ids"], 1);
      EXPECT_EQ(evaluation["known_ids"], bag == BagMode::mean ? 1 : 0);
    }
  }
}

TEST(SparseTables, AreReadOnce) {
  Graph graph;
  const ValueId ids = graph.add_input("ids", {DType::i32, Shape{4, 2}});
  const ValueId table = graph.add_parameter("table", Shape{10, 3});
  const ValueId a = graph.add("a", std::make_shared<EmbeddingBag>(TableGradient::sparse), {ids, table});
  const ValueId b = graph.add("b", std::make_shared<Embedding>(TableGradient::sparse), {ids, table});
  const ValueId da = graph.add_state("da", graph.desc(a)), db = graph.add_state("db", graph.desc(b));
  EXPECT_THROW(differentiate(graph, {{a, da}, {b, db}}), std::logic_error);
}

}  // namespace
}  // namespace ptrain
