// Delayed updates: what a step does in which order.
#include "core/passes/delay_updates.h"

#include "core/ops/sparse/exchanged_rows.h"
#include "core/ops/sparse/sparse_update.h"
#include "core/ops/training/optimizer_update.h"
#include "models/clicks/click_blocks.h"
#include "models/clicks/click_model.h"
#include "tests/error_message.h"
#include "tests/small_models.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

using namespace testing;

PipelineOptions on_ranks(int world_size) {
  PipelineOptions options = training_pipeline(AmpLevel::O0);
  options.optimizer.kind = OptimizerKind::adamw;
  options.distribution = DistributionOptions{.rank = 0, .world_size = world_size};
  options.distribution->delays_updates = true;
  return options;
}

Graph click_graph(PipelineOptions options) {
  options.distribution->tables = RowShard{0, 4};
  ClickSpec spec;
  spec.hash_buckets = 1001;
  return build_training_graph(with_losses(*make_click_model(spec), 8, Mode::training, "clicks"), options).graph;
}

/// The places of the nodes of a type.
std::vector<std::size_t> find_places(const Graph& graph, std::string_view type) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].op->type() == type) places.push_back(i);
  }
  return places;
}

std::size_t find_first_backward(const Graph& graph) {
  const auto& nodes = graph.nodes();
  return static_cast<std::size_t>(
      std::ranges::find_if(nodes, [](const Node& node) { return node.phase == Pass::backward; }) - nodes.begin());
}

/// The waits of a step and how many exchanges each comes behind; those in the update are of norms.
std::vector<std::size_t> find_waits(const Graph& graph) {
  std::vector<std::size_t> waits;
  for (const std::size_t place : find_places(graph, "all_reduce_wait")) {
    if (graph.nodes()[place].phase == Pass::fetch) waits.push_back(place);
  }
  return waits;
}

TEST(DelayUpdates, SumsAreExchangedFromCopiesBehindTheUpdate) {
  const Graph graph = build_training_graph(bert_graph(), on_ranks(2)).graph;
  const std::size_t update = find_places(graph, "optimizer_update").back();
  const std::vector<std::size_t> starts = find_places(graph, "all_reduce_start");
  ASSERT_FALSE(starts.empty());
  const Node& node = graph.nodes()[update];
  const ValueId sums = node.inputs[OptimizerUpdate::grad_f32];
  for (const std::size_t start : starts) {
    EXPECT_GT(start, update);
    EXPECT_EQ(graph.root(graph.nodes()[start].inputs[0]), sums);
    EXPECT_EQ(graph.nodes()[start].phase, Pass::exchange);
  }
  EXPECT_NE(graph.value(sums).name, flat::grad) << "which backward writes meanwhile";
  ASSERT_EQ(find_waits(graph).size(), 1u);
  EXPECT_LT(find_waits(graph)[0], update);
  EXPECT_GT(find_waits(graph)[0], find_first_backward(graph));
  EXPECT_FALSE(looks_ahead(graph));
}

TEST(DelayUpdates, ExchangeTheNextBatchsRowsWithinTheStep) {
  const Graph graph = click_graph(on_ranks(4));
  EXPECT_TRUE(looks_ahead(graph));
  const std::vector<std::size_t> waits = find_waits(graph);
  ASSERT_EQ(waits.size(), 3u) << "for numbers of ids, for ids, for rows";
  EXPECT_LT(find_places(graph, "exchange_counts").at(0), waits[0]);
  for (const char* type : {"sparse_update", "merge_rows", "exchange_ids"}) {
    for (const std::size_t place : find_places(graph, type)) {
      EXPECT_GT(place, waits[0]) << type;
      EXPECT_LT(place, waits[1]) << type;
    }
  }
  EXPECT_LT(find_places(graph, "sparse_update").back(), find_places(graph, "merge_rows").at(0))
      << "which reads the old";
  for (const std::size_t place : find_places(graph, "exchange_rows")) {
    EXPECT_GT(place, waits[1]);
    EXPECT_LT(place, waits[2]);
  }
  const std::size_t update = find_places(graph, "optimizer_update").back();
  for (const char* type : {"unique_gradient", "exchange_gradients", "all_reduce_start"}) {
    for (const std::size_t place : find_places(graph, type)) EXPECT_GT(place, update) << type;
  }
}

/// Layers over the dense features, and the categories' rows only behind them.
class LateLookUp final : public ClickBlocks {
 public:
  using ClickBlocks::ClickBlocks;

  BuiltModel build() {
    constexpr std::array<std::int64_t, 2> heavy{512, 512}, light{4};
    const ValueId layers = dense_layers("heavy", dense_features_, heavy);
    return finish(score_deeply({layers, look_up("deep.words", uniform_start(1))}, light));
  }
};

class LateLookUpModel final : public Model {
 public:
  std::string name() const override { return "late_look_up"; }
  std::string signature() const override { return name(); }
  DataKind reads() const override { return DataKind::table; }
  BuiltModel construct(const Bucket& batch, Mode mode) const override { return LateLookUp({}, batch, mode).build(); }
};

TEST(DelayUpdates, TheNextBatchsRowsWaitForTheLastLookUp) {
  PipelineOptions options = on_ranks(4);
  options.distribution->tables = RowShard{0, 4};
  options.groups = {{"heavy.*", false}};
  const Graph forward = with_losses(LateLookUpModel(), 8, Mode::training, "clicks");
  const Graph graph = build_training_graph(forward, options).graph;
  EXPECT_LT(find_places(graph, "embedding").at(0), find_places(graph, "exchange_rows").at(0));
}

/// What outlives a step, or is written while another thread sends it, lies in no arena.
TEST(DelayUpdates, WhatIsExchangedHasMemoryOfItsOwn) {
  const Graph graph = click_graph(on_ranks(4));
  const auto lasts = [&](ValueId value) { return graph.value(graph.root(value)).storage == Storage::state; };
  for (const Node& node : graph.nodes()) {
    const std::string_view type = node.op->type();
    if (node.phase == Pass::fetch) {
      for (const ValueId output : node.outputs) EXPECT_TRUE(lasts(output)) << node.name;
    }
    if (type != "exchange_gradients") continue;
    for (const int input : {ExchangeGradients::numbers, ExchangeGradients::used, ExchangeGradients::gradients}) {
      EXPECT_TRUE(lasts(node.inputs[static_cast<std::size_t>(input)])) << node.name;
    }
    for (const ValueId output : node.outputs) EXPECT_TRUE(lasts(output)) << node.name;
  }
}

TEST(DelayUpdates, ClippingWaitsForTheNormsOfTables) {
  PipelineOptions options = on_ranks(4);
  options.optimizer.clip_norm = 1;
  const Graph graph = click_graph(options);
  const std::size_t norm = find_places(graph, "norm_of_parts").at(0);
  EXPECT_GT(norm, find_waits(graph)[0]);
  for (const std::size_t place : find_places(graph, "sparse_update")) EXPECT_LT(norm, place);
}

TEST(DelayUpdates, ExcludeTablesThatEveryRankHas) {
  ClickSpec spec;
  const Graph forward = with_losses(*make_click_model(spec), 8, Mode::training, "clicks");
  const std::string message = get_error([&] { build_training_graph(forward, on_ranks(2)); }, ExitCode::usage);
  EXPECT_NE(message.find("dist.tables rows"), std::string::npos) << message;
}

}  // namespace
}  // namespace ptrain
