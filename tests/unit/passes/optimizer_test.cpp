// The flat buffers: every parameter and gradient has a place of its own, and the update knows it.
#include "core/passes/optimizer.h"

#include "core/passes/memory_plan.h"
#include "core/passes/pipeline.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ptrain {
namespace {

using namespace testing;

/// The values that lie in the buffer `name`, checked not to overlap and to start on cache lines.
std::vector<const Value*> get_views(const Graph& graph, std::string_view name) {
  const ValueId base = graph.find_value(name);
  std::vector<const Value*> views;
  for (const Value& value : graph.values()) {
    if (base != no_value && value.base == base) views.push_back(&value);
  }
  std::sort(views.begin(), views.end(), [](const Value* a, const Value* b) { return a->byte_offset < b->byte_offset; });
  std::int64_t end = 0;
  for (const Value* view : views) {
    EXPECT_GE(view->byte_offset, end) << view->name << " overlaps the view before it";
    EXPECT_EQ(view->byte_offset % 64, 0) << view->name;
    EXPECT_EQ(view->desc.dtype, graph.desc(base).dtype) << view->name;
    end = view->byte_offset + static_cast<std::int64_t>(view->desc.bytes());
  }
  return views;
}

const OptimizerUpdate& get_update_op(const Graph& graph) {
  return op_as<OptimizerUpdate>(node_of_type(graph, "optimizer_update"));
}

TEST(OptimizerPass, LaysEveryParameterAndGradientOutWithoutOverlap) {
  for (const NamedGraph& model : all_models()) {
    std::size_t parameters = 0;
    for (const Value& value : model.graph.values()) parameters += value.storage == Storage::parameter;
    for (const AmpLevel level : all_levels) {
      SCOPED_TRACE(model.name);
      const Graph graph = build_training_graph(model.graph, training_pipeline(level)).graph;
      const std::size_t low = get_views(graph, flat::low).size();
      EXPECT_EQ(get_views(graph, flat::master).size(), parameters);
      EXPECT_EQ(get_views(graph, flat::grad_low).size(), low);
      EXPECT_EQ(get_views(graph, flat::grad).size(), parameters - low);
      EXPECT_EQ(low > 0, level != AmpLevel::O0);
      EXPECT_EQ(get_update_op(graph).segments().size(), parameters);
    }
  }
}

TEST(OptimizerPass, GradientsAreMadeWhereTheSegmentSays) {
  for (const NamedGraph& model : all_models()) {
    for (const AmpLevel level : all_levels) {
      const Graph graph = build_training_graph(model.graph, training_pipeline(level)).graph;
      std::set<std::int64_t> masters, grads, low_grads;
      for (const Value* v : get_views(graph, flat::master)) masters.insert(v->byte_offset / 4);
      for (const Value* v : get_views(graph, flat::grad)) grads.insert(v->byte_offset / 4);
      for (const Value* v : get_views(graph, flat::grad_low)) low_grads.insert(v->byte_offset / 2);
      for (const ParameterSegment& segment : get_update_op(graph).segments()) {
        EXPECT_EQ(masters.erase(segment.master_offset), 1u);
        EXPECT_EQ((segment.low_offset < 0 ? grads : low_grads).erase(segment.grad_offset), 1u);
      }
      EXPECT_TRUE(masters.empty() && grads.empty() && low_grads.empty()) << model.name;
      for (const char* buffer : {flat::grad, flat::grad_low}) {
        for (const Value* v : get_views(graph, buffer)) {
          ASSERT_GE(v->producer, 0) << v->name;
          EXPECT_EQ(graph.node(v->producer).phase, Pass::backward);
        }
      }
    }
  }
}

TEST(OptimizerPass, SegmentsPairParameterGradientAndLowCopy) {
  // Independent of the pass: differentiates the same forward graph to find the gradient of a parameter.
  Graph forward = apply_amp(resnet_graph(18), amp_options(AmpLevel::O2)).graph;
  const ValueId seed = forward.add_input("seed", {DType::f32, Shape{}});
  const ValueId loss = forward.find_output("loss");
  Differentiated d = differentiate(std::move(forward), {{loss, seed}});
  const std::vector<ParameterGradient> gradients = d.gradients;
  const Graph graph = add_optimizer(std::move(d), {});
  for (const ParameterGradient& g : gradients) {
    const Value& parameter = graph.value(g.parameter);
    const bool low = parameter.desc.dtype != DType::f32;
    const std::string name = parameter.name.substr(0, parameter.name.find('@'));
    const Value& master = graph.value(graph.find_value(name));
    const auto& segments = get_update_op(graph).segments();
    const auto segment = std::find_if(segments.begin(), segments.end(), [&](const ParameterSegment& s) {
      return s.master_offset * 4 == master.byte_offset;
    });
    ASSERT_NE(segment, segments.end()) << name;
    EXPECT_EQ(segment->count, parameter.desc.count());
    EXPECT_EQ(segment->low_offset >= 0, low) << name;
    if (low) {
      EXPECT_EQ(segment->low_offset * 2, parameter.byte_offset) << name;
    }
    const Value& gradient = graph.value(g.gradient);
    if (gradient.base != no_value) {
      EXPECT_EQ(segment->grad_offset * (low ? 2 : 4), gradient.byte_offset) << name;
    }
  }
}

TEST(OptimizerPass, DecaysWhatTheRecipeSays) {
  const Graph graph = build_training_graph(resnet_graph(18), training_pipeline(AmpLevel::O0)).graph;
  std::map<std::int64_t, const Value*> by_offset;
  for (const Value* v : get_views(graph, flat::master)) by_offset[v->byte_offset / 4] = v;
  int decayed = 0;
  for (const ParameterSegment& segment : get_update_op(graph).segments()) {
    const Value& value = *by_offset.at(segment.master_offset);
    EXPECT_EQ(segment.decay, value.desc.shape.rank() >= 2) << value.name;
    decayed += segment.decay;
  }
  EXPECT_EQ(decayed, 21);
}

TEST(OptimizerPass, AMatterOfTheOptimizerHowManyMomentsThereAre) {
  const std::pair<OptimizerKind, int> kinds[] = {
      {OptimizerKind::sgd, 0},  {OptimizerKind::momentum, 1}, {OptimizerKind::lars, 1},    {OptimizerKind::adamw, 2},
      {OptimizerKind::lamb, 2}, {OptimizerKind::adam, 2},     {OptimizerKind::adagrad, 1}, {OptimizerKind::rmsprop, 2}};
  for (const auto& [kind, moments] : kinds) {
    PipelineOptions options = training_pipeline(AmpLevel::O0);
    options.optimizer.kind = kind;
    const Graph graph = build_training_graph(bert_graph(), options).graph;
    EXPECT_EQ(graph.find_value(flat::moment1) != no_value, moments >= 1) << enum_name(kind);
    EXPECT_EQ(graph.find_value(flat::moment2) != no_value, moments >= 2) << enum_name(kind);
  }
}

TEST(OptimizerPass, AccumulatesInFp32BeforeTheUpdate) {
  PipelineOptions options = training_pipeline(AmpLevel::O2);
  options.accumulate_steps = 4;
  const Graph graph = build_training_graph(bert_graph(), options).graph;
  EXPECT_EQ(node_types(graph)["accumulate"], 2) << "fp32 and low gradients";
  const Node& update = node_of_type(graph, "optimizer_update");
  for (const int input : {OptimizerUpdate::grad_f32, OptimizerUpdate::grad_low}) {
    const Value& total = graph.value(update.inputs[static_cast<std::size_t>(input)]);
    EXPECT_EQ(total.desc.dtype, DType::f32);
    EXPECT_TRUE(total.name.ends_with(".total"));
  }
  for (const Node& node : graph.nodes()) {
    if (node.op->type() == "accumulate") {
      EXPECT_EQ(node.phase, Pass::backward);
    }
  }
  EXPECT_EQ(graph.desc(graph.find_value(flat::micro_step)), (TensorDesc{DType::i32, Shape{1}}));
}

TEST(OptimizerPass, MeasuresTheNormOnlyWhenSomethingNeedsIt) {
  PipelineOptions options = training_pipeline(AmpLevel::O1);
  EXPECT_EQ(node_types(build_training_graph(bert_graph(), options).graph)["grad_norm"], 0);
  options.optimizer.clip_norm = 1.0f;
  EXPECT_EQ(node_types(build_training_graph(bert_graph(), options).graph)["grad_norm"], 1);
  options.optimizer.clip_norm = 0.0f;
  options.loss_scaling = true;
  auto types = node_types(build_training_graph(bert_graph(), options).graph);
  EXPECT_EQ(types["grad_norm"], 1);
  EXPECT_EQ(types["loss_scale_update"], 1);
}

/// The updates that stand among the backward nodes, by their place.
std::map<std::size_t, const Node*> early_updates(const Graph& graph) {
  std::map<std::size_t, const Node*> early;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const auto* op = dynamic_cast<const OptimizerUpdate*>(node.op.get());
    if (op != nullptr && op->counted() == UpdateCount::later) early[i] = &node;
  }
  return early;
}

/// Whether `id` is the parameter of a segment, or what forward reads of it.
bool is_parameter(const Graph& graph, ValueId id, const ParameterSegment& segment) {
  if (id == no_value || graph.value(id).base == no_value) return false;
  const Value& value = graph.value(id);
  const std::string& buffer = graph.value(value.base).name;
  return (buffer == flat::master && value.byte_offset == segment.master_offset * 4) ||
         (buffer == flat::low && value.byte_offset == segment.low_offset * 2);
}

std::int64_t get_bytes(const Graph& graph) {
  std::int64_t bytes = plan_memory(graph, MemoryReuse::on).arena_bytes;
  for (const Value& value : graph.values()) {
    if (value.storage == Storage::state && value.base == no_value)
      bytes += static_cast<std::int64_t>(value.desc.bytes());
  }
  return bytes;
}

TEST(OptimizerPass, UpdatesLargeParametersWhenBackwardIsDoneWithThem) {
  for (const NamedGraph& model : all_models()) {
    for (const AmpLevel level : all_levels) {
      SCOPED_TRACE(fmt::format("{} {}", model.name, enum_name(level)));
      PipelineOptions options = training_pipeline(level);
      const Graph late = build_training_graph(model.graph, options).graph;
      options.early_updates.emplace();
      const Graph graph = build_training_graph(model.graph, options).graph;
      const auto early = early_updates(graph);
      EXPECT_EQ(early.empty(), model.name.starts_with("bert")) << "whose parameters are small";
      std::int64_t elements = 0;
      for (const auto& [place, node] : early) {
        const ParameterSegment& segment = op_as<OptimizerUpdate>(*node).segments().at(0);
        elements += segment.count;
        const int input = segment.low_offset < 0 ? OptimizerUpdate::grad_f32 : OptimizerUpdate::grad_low;
        const Value& gradient = graph.value(node->inputs[static_cast<std::size_t>(input)]);
        EXPECT_EQ(gradient.base, no_value) << node->name;
        EXPECT_GE(gradient.desc.bytes(), std::size_t{1} << 20) << node->name;
        for (std::size_t i = place + 1; i < graph.nodes().size(); ++i) {
          for (const ValueId id : graph.nodes()[i].inputs) {
            EXPECT_FALSE(is_parameter(graph, id, segment)) << graph.nodes()[i].name << " reads what is updated before";
          }
        }
      }
      for (const Node& node : graph.nodes()) {
        const auto* op = dynamic_cast<const OptimizerUpdate*>(node.op.get());
        if (op == nullptr || op->counted() == UpdateCount::later) continue;
        EXPECT_EQ(&node, &graph.nodes().back()) << "the step is counted when all else is done";
        for (const ParameterSegment& segment : op->segments()) elements += segment.count;
      }
      std::int64_t all = 0;
      for (const ParameterSegment& segment : get_update_op(late).segments()) all += segment.count;
      EXPECT_EQ(elements, all) << "each parameter is updated once";
      if (!early.empty()) {
        EXPECT_LT(get_bytes(graph), get_bytes(late));
      }
    }
  }
}

TEST(OptimizerPass, UpdatesMatricesEarlyWhereTheirGradientSumsOverManyRows) {
  const auto count = [](const EarlyUpdates& rule) {
    PipelineOptions options = training_pipeline(AmpLevel::O0);
    options.early_updates = rule;
    return early_updates(build_training_graph(bert_graph(), options).graph).size();
  };
  const std::size_t all = count({.least = 1 << 10});
  const double rows = 2 * 8;  // of bert_graph: sequences and their length
  EXPECT_GT(all, 0u);
  EXPECT_LT(count({.least = 1 << 10, .arithmetic = 2 * rows}), all) << "biases, norms and tables have no products";
  EXPECT_GT(count({.least = 1 << 10, .arithmetic = 2 * rows}), 0u);
  EXPECT_EQ(count({.least = 1 << 10, .arithmetic = 5 * rows}), 0u);
  EXPECT_EQ(count({.least = 1 << 10, .arithmetic = 5 * rows, .any = 1 << 10}), all);
}

TEST(OptimizerPass, UpdatesAllAtTheEndWhereSomethingNeedsAllGradients) {
  PipelineOptions options = training_pipeline(AmpLevel::O1);
  options.early_updates.emplace();
  PipelineOptions clipped = options, scaled = options, summed = options, exchanged = options;
  clipped.optimizer.clip_norm = 1.0f;
  scaled.loss_scaling = true;
  summed.accumulate_steps = 2;
  exchanged.distribution.emplace();
  exchanged.distribution->world_size = 2;
  for (const PipelineOptions& other : {clipped, scaled, summed, exchanged}) {
    EXPECT_TRUE(early_updates(build_training_graph(resnet_graph(18), other).graph).empty());
  }
  EXPECT_FALSE(early_updates(build_training_graph(resnet_graph(18), options).graph).empty());
}

TEST(Pipeline, DumpsAfterEveryPassInOrder) {
  std::vector<std::string> passes;
  PipelineOptions options = training_pipeline(AmpLevel::O1);
  options.dump = [&](std::string_view pass, const Graph& graph) {
    EXPECT_FALSE(graph.nodes().empty());
    passes.emplace_back(pass);
  };
  options.recompute = Recompute::block;
  build_training_graph(resnet_graph(18), options);
  EXPECT_EQ(passes, (std::vector<std::string>{"model", "fuse", "fuse_output_layer", "amp", "fuse_casts", "autodiff",
                                              "join_loss_with_gradient", "fuse_gradients", "fuse_gradient_sums",
                                              "fuse_pointwise", "recompute", "optimizer"}));
}

TEST(Pipeline, NamesThePassAfterWhichTheGraphIsBroken) {
  Graph graph = resnet_graph(18);
  graph.set_output("broken", graph.add_value("ghost", {DType::f32, Shape{1}}, Storage::activation));
  try {
    build_inference_graph(graph, {});
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("(after pass model)"), std::string::npos) << error.what();
  }
}

TEST(Pipeline, WantsALoss) {
  Graph graph;
  graph.add_parameter("w", Shape{8});
  EXPECT_THROW(build_training_graph(graph, {}), std::logic_error);
}

TEST(Pipeline, InferenceGraphsHaveNoBackward) {
  const Graph graph = build_inference_graph(bert_graph(0, Mode::evaluation), {}).graph;
  for (const Node& node : graph.nodes()) EXPECT_EQ(node.phase, Pass::forward);
  EXPECT_EQ(graph.find_value(flat::master), no_value);
}

}  // namespace
}  // namespace ptrain
