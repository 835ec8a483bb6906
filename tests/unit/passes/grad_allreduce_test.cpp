// The exchange of gradients: every element once, as early as it can be, and not for every micro-batch.
#include "core/passes/grad_allreduce.h"

#include "core/ops/training/all_reduce.h"
#include "core/ops/training/loss_gradient.h"
#include "core/passes/pipeline.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace ptrain {
namespace {

using namespace testing;

PipelineOptions distributed_pipeline(AmpLevel level) {
  PipelineOptions options = training_pipeline(level);
  options.distribution = DistributionOptions{.world_size = 4, .bucket_bytes = 64 << 10};
  return options;
}

std::vector<const Node*> starts(const Graph& graph, std::string_view type = "all_reduce_start") {
  std::vector<const Node*> found;
  for (const Node& node : graph.nodes()) {
    if (node.op->type() == type) found.push_back(&node);
  }
  return found;
}

std::size_t get_index(const Graph& graph, const Node* node) {
  return static_cast<std::size_t>(node - graph.nodes().data());
}

/// Bytes [begin, end) of the buffer `base` that start nodes exchange, ascending.
std::vector<std::pair<std::int64_t, std::int64_t>> exchanged_parts(const Graph& graph, ValueId base,
                                                                   std::string_view type = "all_reduce_start") {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  for (const Node* node : starts(graph, type)) {
    const Value& data = graph.value(node->inputs[0]);
    if (data.base != base) continue;
    parts.emplace_back(data.byte_offset, data.byte_offset + static_cast<std::int64_t>(data.desc.bytes()));
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

void expect_covered_once(const Graph& graph, ValueId base, std::string_view type = "all_reduce_start") {
  std::int64_t next = 0;
  for (const auto& [begin, end] : exchanged_parts(graph, base, type)) {
    EXPECT_EQ(begin, next);
    next = end;
  }
  EXPECT_EQ(next, static_cast<std::int64_t>(graph.desc(base).bytes())) << graph.value(base).name;
}

const Node& make_update(const Graph& graph) { return node_of_type(graph, "optimizer_update"); }

TEST(GradAllReduce, ExchangesEveryGradientOnceBeforeTheUpdate) {
  for (const NamedGraph& model : all_models()) {
    for (const AmpLevel level : all_levels) {
      SCOPED_TRACE(model.name);
      const Graph graph = build_training_graph(model.graph, distributed_pipeline(level)).graph;
      const Node& update = make_update(graph);
      for (const int input : {OptimizerUpdate::grad_f32, OptimizerUpdate::grad_low}) {
        const ValueId buffer = update.inputs[static_cast<std::size_t>(input)];
        if (buffer != no_value) expect_covered_once(graph, buffer);
      }
      const std::size_t wait = get_index(graph, &node_of_type(graph, "all_reduce_wait"));
      EXPECT_LT(wait, get_index(graph, &update));
      for (const Node* node : starts(graph)) EXPECT_LT(get_index(graph, node), wait);
    }
  }
}

TEST(GradAllReduce, StartsABucketAfterItsLastGradientAndNotMuchLater) {
  for (const NamedGraph& model : all_models()) {
    const Graph graph = build_training_graph(model.graph, distributed_pipeline(AmpLevel::O0)).graph;
    const ValueId base = make_update(graph).inputs[OptimizerUpdate::grad_f32];
    std::size_t early = 0;
    for (const Node* node : starts(graph)) {
      const Value& data = graph.value(node->inputs[0]);
      if (data.base != base) continue;
      std::size_t last = 0;
      for (const Value& value : graph.values()) {
        const bool inside = value.base == base && value.producer >= 0 && value.byte_offset >= data.byte_offset &&
                            value.byte_offset < data.byte_offset + static_cast<std::int64_t>(data.desc.bytes());
        if (inside) last = std::max(last, static_cast<std::size_t>(value.producer));
      }
      const std::size_t at = get_index(graph, node);
      EXPECT_GT(at, last) << model.name;
      for (std::size_t between = last + 1; between < at; ++between) {
        EXPECT_EQ(graph.nodes()[between].op->type(), "all_reduce_start") << model.name;
      }
      const auto& after = graph.nodes()[at + 1];
      early += after.phase == Pass::backward ? 1 : 0;
    }
    EXPECT_GT(early, 0u) << model.name << ": something is exchanged during the backward pass";
  }
}

TEST(GradAllReduce, BucketsHoldAboutWhatWasAskedFor) {
  for (const NamedGraph& model : all_models()) {
    const Graph graph = build_training_graph(model.graph, distributed_pipeline(AmpLevel::O0)).graph;
    const ValueId base = make_update(graph).inputs[OptimizerUpdate::grad_f32];
    const auto parts = exchanged_parts(graph, base);
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) EXPECT_GE(parts[i].second - parts[i].first, 64 << 10);
  }
}

TEST(GradAllReduce, WidensLowPrecisionGradientsOnlyWhenAsked) {
  PipelineOptions options = distributed_pipeline(AmpLevel::O2);
  const Graph model = all_models()[0].graph;
  const Graph wide = build_training_graph(model, options).graph;
  const ValueId wide_buffer = make_update(wide).inputs[OptimizerUpdate::grad_low];
  EXPECT_EQ(wide.value(wide_buffer).name, flat::grad_low_f32);
  EXPECT_EQ(wide.desc(wide_buffer).dtype, DType::f32);
  options.distribution->average = GradAverage::gradient;
  const Graph narrow = build_training_graph(model, options).graph;
  const ValueId narrow_buffer = make_update(narrow).inputs[OptimizerUpdate::grad_low];
  EXPECT_EQ(narrow.value(narrow_buffer).name, flat::grad_low);
  expect_covered_once(narrow, narrow_buffer);
}

TEST(GradAllReduce, ExchangesSumsOfMicroBatchesOnTheLastOnly) {
  for (const AmpLevel level : all_levels) {
    PipelineOptions options = distributed_pipeline(level);
    options.accumulate_steps = 3;
    const Graph graph = build_training_graph(all_models()[0].graph, options).graph;
    for (const Node& node : graph.nodes()) {
      const bool exchanges = node.op->type().starts_with("all_reduce");
      EXPECT_EQ(exchanges, node.phase == Pass::exchange) << node.name;
      EXPECT_TRUE(node.op->type() != "accumulate" || node.phase == Pass::backward) << node.name;
    }
    const ValueId total = make_update(graph).inputs[OptimizerUpdate::grad_f32];
    expect_covered_once(graph, total);
    std::int64_t accumulated = 0;
    for (const Node& node : graph.nodes()) {
      if (node.op->type() == "accumulate" && graph.root(node.inputs[0]) == total)
        accumulated += graph.desc(node.inputs[0]).count();
    }
    EXPECT_EQ(accumulated, graph.desc(total).count());
  }
}

TEST(GradAllReduce, ReproducibleSumsAreExchangedAtEveryMicroBatch) {
  for (const AmpLevel level : all_levels) {
    for (const int accumulate_steps : {1, 3}) {
      PipelineOptions options = distributed_pipeline(level);
      options.accumulate_steps = accumulate_steps;
      options.distribution->reproducible = true;
      const Graph graph = build_training_graph(all_models()[0].graph, options).graph;
      const auto& seed = static_cast<const LossGradient&>(*node_of_type(graph, "loss_gradient").op);
      EXPECT_EQ(seed.factor(), 1.0f / static_cast<float>(4 * accumulate_steps)) << "a part of the mean from the start";
      for (const Node* node : starts(graph)) {
        if (graph.value(node->inputs[0]).name == flat::statistics) continue;
        EXPECT_EQ(node->phase, Pass::backward);
        EXPECT_EQ(static_cast<const AllReduceStart&>(*node->op).factor(), 1.0f);
      }
      EXPECT_EQ(node_of_type(graph, "all_reduce_wait").phase, Pass::backward) << "before the next one adds to the sum";
    }
  }
}

TEST(GradAllReduce, LeavesEveryViewWhereItWas) {
  for (const NamedGraph& model : all_models()) {
    const Graph before = build_training_graph(model.graph, training_pipeline(AmpLevel::O2)).graph;
    const Graph after = build_training_graph(model.graph, distributed_pipeline(AmpLevel::O2)).graph;
    for (const Value& value : before.values()) {
      if (value.base == no_value) continue;
      const Value& same = after.value(after.find_value(value.name));
      ASSERT_NE(same.base, no_value) << value.name;
      EXPECT_EQ(after.value(same.base).name, before.value(value.base).name) << value.name;
      EXPECT_EQ(same.byte_offset, value.byte_offset) << value.name;
    }
  }
}

PipelineOptions sharded_pipeline(AmpLevel level, int rank) {
  PipelineOptions options = distributed_pipeline(level);
  options.average_decay = 0.9f;
  options.groups = {{.pattern = "*weight", .lr_scale = 0.5f}};
  options.distribution->shard = Shard{rank, options.distribution->world_size, 16 << 10};
  return options;
}

/// Counts the updates of each element of flat::master, and the uses of each of a rank's moments.
void count_updates(const Graph& graph, std::vector<char>& master, std::vector<char>& moments) {
  for (const Node& node : graph.nodes()) {
    if (node.op->type() != "optimizer_update") continue;
    for (const ParameterSegment& s : op_as<OptimizerUpdate>(node).segments()) {
      ASSERT_LE(s.master_offset + s.count, std::ssize(master));
      ASSERT_GE(s.master_offset + s.moment_shift, 0);
      ASSERT_LE(s.master_offset + s.moment_shift + s.count, std::ssize(moments));
      for (std::int64_t i = s.master_offset; i < s.master_offset + s.count; ++i) {
        ++master[static_cast<std::size_t>(i)];
        ++moments[static_cast<std::size_t>(i + s.moment_shift)];
      }
    }
  }
}

TEST(GradAllReduce, RanksOfAShardedUpdateWriteEveryParameterOnce) {
  for (const NamedGraph& model : {NamedGraph{"resnet18", resnet_graph(18)}, NamedGraph{"bert", bert_graph()}}) {
    for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {
      SCOPED_TRACE(model.name);
      const Graph alone = build_training_graph(model.graph, distributed_pipeline(level)).graph;
      const auto count = static_cast<std::size_t>(alone.desc(alone.find_value(flat::master)).count());
      std::vector<char> expected(count), unsharded_moments(count), updated(count);
      count_updates(alone, expected, unsharded_moments);
      std::size_t kept = 0;
      for (int rank = 0; rank < 4; ++rank) {
        const Graph graph = build_training_graph(model.graph, sharded_pipeline(level, rank)).graph;
        const ValueId moment = make_update(graph).inputs[OptimizerUpdate::moment1];
        EXPECT_TRUE(is_shard(graph.value(moment).name));
        std::vector<char> moments(static_cast<std::size_t>(graph.desc(moment).count()));
        count_updates(graph, updated, moments);
        EXPECT_LE(*std::max_element(moments.begin(), moments.end()), 1);
        kept += moments.size();
      }
      EXPECT_EQ(updated, expected);
      EXPECT_EQ(kept, count);
    }
  }
}

/// Where a norm, low precision or rank 0's sum over micro-batches needs whole gradients, all ranks get them.
TEST(GradAllReduce, ShardedUpdatesGetTheSumsOfTheirSlicesAlone) {
  const Graph model = all_models()[0].graph;
  const auto build = [&](AmpLevel level, const std::function<void(PipelineOptions&)>& change) {
    PipelineOptions options = sharded_pipeline(level, 1);
    change(options);
    return build_training_graph(model, options).graph;
  };
  const auto keep = [](PipelineOptions&) {};
  const auto accumulate = [](PipelineOptions& options) { options.accumulate_steps = 3; };
  for (const auto& change : {std::function<void(PipelineOptions&)>(keep), {accumulate}}) {
    const Graph graph = build(AmpLevel::O0, change);
    const ValueId gradients = make_update(graph).inputs[OptimizerUpdate::grad_f32];
    EXPECT_TRUE(exchanged_parts(graph, gradients).empty());
    expect_covered_once(graph, gradients, "reduce_scatter_start");
    EXPECT_EQ(exchanged_parts(graph, gradients, "reduce_scatter_start"),
              exchanged_parts(graph, graph.find_value(flat::master), "all_gather_start"))
        << "slices of the parameters that a rank updates";
    for (const Node& node : graph.nodes()) {
      if (node.op->type() != "optimizer_update") continue;
      for (const ParameterSegment& s : op_as<OptimizerUpdate>(node).segments())
        EXPECT_EQ(s.grad_offset, s.master_offset);
    }
  }
  for (const Graph& graph : {build(AmpLevel::O2, keep), build(AmpLevel::O0, [](auto& o) { o.optimizer.clip_norm = 1; }),
                             build(AmpLevel::O0, [](auto& o) {
                               o.accumulate_steps = 3;
                               o.distribution->reproducible = true;
                             })}) {
    EXPECT_TRUE(starts(graph, "reduce_scatter_start").empty());
    const ValueId gradients = make_update(graph).inputs[OptimizerUpdate::grad_f32];
    if (gradients != no_value) expect_covered_once(graph, gradients);
  }
}

TEST(GradAllReduce, StartsAReduceScatterOnceItsGradientsAreComputed) {
  const Graph graph = build_training_graph(all_models()[0].graph, sharded_pipeline(AmpLevel::O0, 0)).graph;
  const ValueId base = make_update(graph).inputs[OptimizerUpdate::grad_f32];
  std::size_t early = 0;
  for (const Node* node : starts(graph, "reduce_scatter_start")) {
    const Value& data = graph.value(node->inputs[0]);
    const std::int64_t end = data.byte_offset + static_cast<std::int64_t>(data.desc.bytes());
    for (const Value& value : graph.values()) {
      const bool overlaps = value.base == base && value.producer >= 0 && value.byte_offset < end &&
                            value.byte_offset + static_cast<std::int64_t>(value.desc.bytes()) > data.byte_offset;
      EXPECT_TRUE(!overlaps || static_cast<std::size_t>(value.producer) < get_index(graph, node)) << value.name;
    }
    early += graph.nodes()[get_index(graph, node) + 1].phase == Pass::backward ? 1 : 0;
  }
  EXPECT_GT(early, 0u) << "something is exchanged during the backward pass";
}

TEST(GradAllReduce, GathersParametersBetweenTheShardedUpdateAndTheirReaders) {
  for (const NamedGraph& model : all_models()) {
    const Graph graph = build_training_graph(model.graph, sharded_pipeline(AmpLevel::O2, 1)).graph;
    expect_covered_once(graph, graph.find_value(flat::master), "all_gather_start");
    std::size_t last_update = 0, first_start = graph.nodes().size(), wait = 0, first_reader = graph.nodes().size();
    std::set<ValueId> copied;
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph.nodes()[i];
      if (node.op->type() == "optimizer_update") last_update = i;
      if (node.op->type() == "all_gather_start") first_start = std::min(first_start, i);
      if (node.name == "gather.wait") wait = i;
      if (node.phase != Pass::update) continue;
      if (node.op->type() == "cast") copied.insert(graph.find_value(graph.value(node.inputs[0]).name + "@bf16"));
      if (node.op->type() == "cast" || node.op->type() == "moving_average") first_reader = std::min(first_reader, i);
    }
    EXPECT_LT(last_update, first_start) << model.name;
    EXPECT_LT(first_start, wait) << model.name;
    EXPECT_LT(wait, first_reader) << model.name;
    for (const Value& value : graph.values()) {
      const bool low = value.storage == Storage::parameter && is_low_precision(value.desc.dtype);
      EXPECT_TRUE(!low || copied.contains(graph.find_value(value.name))) << value.name;
    }
  }
}

}  // namespace
}  // namespace ptrain
