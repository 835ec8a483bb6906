// The memory plan, checked by pretending to run the graph and watching who owns every block.
#include "core/passes/memory_plan.h"

#include "tests/unit/graph/test_ops.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain {
namespace {

using namespace testing;

class Simulation {
 public:
  Simulation(const Graph& graph, const MemoryPlan& plan)
      : graph_(graph), plan_(plan), owner_(static_cast<std::size_t>(plan.arena_bytes / arena_alignment), no_value) {}

  /// Every value is intact when it is read; an output covers an input of its own node only where the op allows that.
  void run() {
    for (const Node& node : graph_.nodes()) {
      for (const ValueId id : node.inputs) {
        if (id == no_value || offset(id) < 0) continue;
        ASSERT_TRUE(intact(id)) << node.name << " reads overwritten " << graph_.value(id).name;
      }
      for (std::size_t k = 0; k < node.outputs.size(); ++k) write(node, k);
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (const auto& [name, id] : graph_.outputs()) EXPECT_TRUE(offset(id) < 0 || intact(id)) << "output " << name;
  }

 private:
  std::int64_t offset(ValueId id) const { return plan_.offsets[static_cast<std::size_t>(id)]; }
  std::pair<std::size_t, std::size_t> blocks(ValueId id) const {
    const auto first = static_cast<std::size_t>(offset(id) / arena_alignment);
    const std::size_t alignment = static_cast<std::size_t>(arena_alignment);
    return {first, first + (graph_.desc(id).bytes() + alignment - 1) / alignment};
  }
  bool intact(ValueId id) const {
    const auto [first, last] = blocks(id);
    return std::all_of(owner_.begin() + static_cast<std::ptrdiff_t>(first),
                       owner_.begin() + static_cast<std::ptrdiff_t>(last), [&](ValueId o) { return o == id; });
  }
  void write(const Node& node, std::size_t k) {
    const ValueId id = node.outputs[k];
    if (offset(id) < 0) return;
    ASSERT_EQ(offset(id) % arena_alignment, 0);
    const auto [first, last] = blocks(id);
    ASSERT_LE(last, owner_.size()) << node.name << ": outside the arena";
    const int inplace = node.op->inplace_input(static_cast<int>(k));
    for (std::size_t b = first; b < last; ++b) {
      const ValueId before = owner_[b];
      const auto read = std::find(node.inputs.begin(), node.inputs.end(), before);
      if (before != no_value && read != node.inputs.end()) {
        ASSERT_EQ(static_cast<int>(read - node.inputs.begin()), inplace) << node.name << " overwrites its own input";
        ASSERT_EQ(offset(before), offset(id)) << node.name;
      }
      ASSERT_EQ(std::count(node.outputs.begin(), node.outputs.end(), before), 0) << node.name << ": outputs overlap";
      owner_[b] = id;
    }
  }

  const Graph& graph_;
  const MemoryPlan& plan_;
  std::vector<ValueId> owner_;
};

/// The most bytes that are alive at one node: no plan without recomputation needs less (in-place reuse aside).
std::int64_t live_bytes_bound(const Graph& graph) {
  std::vector<std::size_t> last(graph.values().size(), 0);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    for (const ValueId id : graph.nodes()[i].inputs) {
      if (id != no_value) last[static_cast<std::size_t>(id)] = i;
    }
  }
  std::vector<std::int64_t> live(graph.nodes().size() + 1, 0);
  for (std::size_t v = 0; v < last.size(); ++v) {
    const Value& value = graph.values()[v];
    if (value.storage != Storage::activation || value.base != no_value) continue;
    const auto first = static_cast<std::size_t>(value.producer);
    for (std::size_t i = first; i <= std::max(first, last[v]); ++i) {
      live[i] += static_cast<std::int64_t>(value.desc.bytes());
    }
  }
  return *std::max_element(live.begin(), live.end());
}

TEST(MemoryPlan, NeverLetsTwoLiveBuffersOverlapOnTheRealModels) {
  for (const NamedGraph& model : all_models()) {
    for (const AmpLevel level : all_levels) {
      for (const int accumulate : {1, 2}) {
        PipelineOptions options = training_pipeline(level);
        options.accumulate_steps = accumulate;
        const Graph graph = build_training_graph(model.graph, options).graph;
        for (const MemoryReuse reuse : {MemoryReuse::off, MemoryReuse::on}) {
          SCOPED_TRACE(model.name);
          const MemoryPlan plan = plan_memory(graph, reuse);
          Simulation(graph, plan).run();
        }
      }
    }
  }
}

TEST(MemoryPlan, HoldsOnInferenceGraphsAndUnfusedOnes) {
  PipelineOptions options = training_pipeline(AmpLevel::O1);
  options.fusion = Fusion::off;
  for (const NamedGraph& model : all_models()) {
    const Graph graph = build_training_graph(model.graph, options).graph;
    Simulation(graph, plan_memory(graph, MemoryReuse::on)).run();
  }
  for (const Graph& forward : {resnet_graph(50, 64, Mode::evaluation), bert_graph(0, Mode::evaluation)}) {
    const Graph graph = build_inference_graph(forward, {}).graph;
    Simulation(graph, plan_memory(graph, MemoryReuse::on)).run();
  }
}

TEST(MemoryPlan, StaysNearTheLeastPossible) {
  for (const NamedGraph& model : all_models()) {
    const Graph graph = build_training_graph(model.graph, training_pipeline(AmpLevel::O0)).graph;
    const auto planned = static_cast<double>(plan_memory(graph, MemoryReuse::on).arena_bytes);
    const auto everything = static_cast<double>(plan_memory(graph, MemoryReuse::off).arena_bytes);
    EXPECT_LE(planned, 1.05 * static_cast<double>(live_bytes_bound(graph))) << model.name;
    EXPECT_LT(planned, 0.8 * everything) << model.name;
  }
}

const TensorDesc kilobyte{DType::f32, Shape{256}};

struct Chain {
  Graph graph;
  ValueId x = graph.add("x", fake(), {graph.add_input("in", kilobyte)});
  ValueId y = graph.add("y", fake({1, false, 0}), {x});
  std::int64_t offset(ValueId id, MemoryReuse reuse) const {
    return plan_memory(graph, reuse).offsets[static_cast<std::size_t>(id)];
  }
};

TEST(MemoryPlan, RunsInPlaceOnlyWithReuse) {
  const Chain chain;
  EXPECT_EQ(chain.offset(chain.x, MemoryReuse::on), chain.offset(chain.y, MemoryReuse::on));
  EXPECT_EQ(plan_memory(chain.graph, MemoryReuse::on).arena_bytes, 1024);
  EXPECT_NE(chain.offset(chain.x, MemoryReuse::off), chain.offset(chain.y, MemoryReuse::off));
  EXPECT_EQ(plan_memory(chain.graph, MemoryReuse::off).arena_bytes, 2048);
}

TEST(MemoryPlan, KeepsApartWhatABackendDoesNotRunInPlace) {
  const Chain chain;
  const auto arena = [&](bool in_place) {
    return plan_memory(chain.graph, MemoryReuse::on, [&](const Op&) { return in_place; }).arena_bytes;
  };
  EXPECT_EQ(arena(true), 1024);
  EXPECT_EQ(arena(false), 2048);
}

TEST(MemoryPlan, KeepsAnInputThatIsReadLater) {
  Chain chain;
  chain.graph.add("z", fake(), {chain.x, chain.y});
  EXPECT_NE(chain.offset(chain.x, MemoryReuse::on), chain.offset(chain.y, MemoryReuse::on));
}

TEST(MemoryPlan, KeepsAnInputThatIsAnOutputOfTheGraph) {
  Chain chain;
  chain.graph.set_output("x", chain.x);
  EXPECT_NE(chain.offset(chain.x, MemoryReuse::on), chain.offset(chain.y, MemoryReuse::on));
}

TEST(MemoryPlan, KeepsAnInputThatTheNodeReadsTwice) {
  Chain chain;
  const ValueId z = chain.graph.add("z", fake({1, false, 0}), {chain.y, chain.y});
  EXPECT_NE(chain.offset(chain.y, MemoryReuse::on), chain.offset(z, MemoryReuse::on));
}

TEST(MemoryPlan, NeverOverwritesInputsAndPersistentValuesInPlace) {
  Graph graph;
  const ValueId in = graph.add_input("in", kilobyte);
  const ValueId y = graph.add("y", fake({1, false, 0}), {in});
  const MemoryPlan plan = plan_memory(graph, MemoryReuse::on);
  EXPECT_EQ(plan.offsets[static_cast<std::size_t>(in)], -1);
  EXPECT_EQ(plan.offsets[static_cast<std::size_t>(y)], 0);
}

TEST(MemoryPlan, ReusesMemoryOfWhatIsDead) {
  Chain chain;
  ValueId z = chain.y;
  for (int i = 0; i < 10; ++i) z = chain.graph.add("z", fake(), {z});
  EXPECT_EQ(plan_memory(chain.graph, MemoryReuse::on).arena_bytes, 2048);
}

}  // namespace
}  // namespace ptrain
