// Building graphs, refusing malformed ones, and printing.
#include "core/graph/graph.h"

#include "tests/error_message.h"
#include "tests/unit/graph/test_ops.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using testing::fake;

const TensorDesc eight{DType::f32, Shape{8}};

/// Expects verify to reject the graph with a message that holds `part`.
void expect_refused(const Graph& graph, const std::string& part) {
  try {
    verify(graph);
    ADD_FAILURE() << "accepted; expected a message with \"" << part << "\"";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

/// x -> a -> b, b being an output named "out".
struct Chain {
  Graph graph;
  ValueId x, a, b;
  Chain() {
    x = graph.add_input("x", eight);
    a = graph.add("a", fake(), {x});
    b = graph.add("b", fake(), {a});
    graph.set_output("out", b);
  }
};

TEST(Graph, NamesOutputsAndRecordsProducers) {
  Graph graph;
  const ValueId x = graph.add_input("x", eight);
  const auto outputs = graph.add_node("pair", fake({2}), {x});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(graph.value(outputs[0]).name, "pair");
  EXPECT_EQ(graph.value(outputs[1]).name, "pair:1");
  EXPECT_EQ(graph.value(outputs[1]).producer, 0);
  EXPECT_EQ(graph.find_value("pair:1"), outputs[1]);
  EXPECT_EQ(graph.find_value("nothing"), no_value);
  EXPECT_EQ(graph.find_output("nothing"), no_value);
}

TEST(Graph, NamesTheNodeWhoseShapesDoNotFit) {
  Graph graph;
  EXPECT_EQ(get_error([&] { graph.add("layer1.conv", fake(), {no_value}); }, ExitCode::usage),
            "layer1.conv (fake): expected an input");
  EXPECT_TRUE(graph.nodes().empty());
}

TEST(Verify, AcceptsAWellFormedGraph) { EXPECT_NO_THROW(verify(Chain().graph)); }

TEST(Verify, RefusesAnInputUsedBeforeItIsMade) {
  Graph graph;
  const ValueId later = graph.add_value("later", eight, Storage::activation);
  graph.add("early", fake(), {later});
  expect_refused(graph, "used before it is made");
}

TEST(Verify, RefusesAnOutputThatDoesNotExist) {
  Graph graph;
  graph.add_input("x", eight);
  graph.set_output("out", 17);
  expect_refused(graph, "output out does not exist");
}

TEST(Verify, RefusesAnOutputThatIsNeverMade) {
  Graph graph;
  graph.set_output("out", graph.add_value("ghost", eight, Storage::activation));
  expect_refused(graph, "never made");
}

TEST(Verify, RefusesADescriptorThatInferenceDoesNotGive) {
  Chain chain;
  chain.graph.value(chain.b).desc.dtype = DType::bf16;
  expect_refused(chain.graph, "bf16[8] but inference gives f32[8]");
}

TEST(Verify, RefusesAnOutputThatIsNoActivation) {
  Chain chain;
  chain.graph.value(chain.a).storage = Storage::parameter;
  expect_refused(chain.graph, "not an activation");
}

TEST(Verify, RefusesWritingInPlaceWhatDoesNotPersist) {
  Graph graph;
  graph.add("update", fake({1, true}), {graph.add_value("x", eight, Storage::input)});
  expect_refused(graph, "written in place but is neither state");
  Chain chain;
  chain.graph.add("update", fake({1, true}), {chain.a});
  expect_refused(chain.graph, "written in place but is neither state");
  Graph good;
  good.add("update", fake({1, true}), {good.add_state("s", eight)});
  good.add("start", fake({1, true}), {good.add_value("p", eight, Storage::parameter)});
  EXPECT_NO_THROW(verify(good));
}

TEST(Verify, RefusesAViewOutsideItsBase) {
  for (const std::int64_t offset : {std::int64_t{-4}, std::int64_t{4}, std::int64_t{1} << 40}) {
    Graph graph;
    const ValueId base = graph.add_state("flat", eight);
    const ValueId view = graph.add_parameter("w", Shape{8});
    graph.value(view).base = base;
    graph.value(view).byte_offset = offset;
    expect_refused(graph, "view w reaches outside flat");
  }
}

TEST(Verify, RefusesAViewOfNothing) {
  Graph graph;
  graph.value(graph.add_parameter("w", Shape{8})).base = 5;
  expect_refused(graph, "the base of w does not exist");
}

TEST(Graph, RootFollowsViewsOfViews) {
  Graph graph;
  const ValueId base = graph.add_state("flat", {DType::f32, Shape{64}});
  const ValueId part = graph.add_state("part", {DType::f32, Shape{32}});
  const ValueId w = graph.add_parameter("w", Shape{8});
  graph.value(part).base = base;
  graph.value(w).base = part;
  EXPECT_EQ(graph.root(w), base);
  EXPECT_EQ(graph.root(base), base);
}

TEST(Print, ShowsValuesPhasesNodesAndOutputs) {
  Graph graph;
  const ValueId x = graph.add_input("x", eight);
  const ValueId w = graph.add_parameter("w", Shape{8});
  const ValueId flat = graph.add_state("flat", {DType::f32, Shape{16}});
  graph.value(w).base = flat;
  graph.value(w).byte_offset = 32;
  const ValueId y = graph.add("y", fake(), {x, no_value, w});
  graph.add("y.grad", fake(), {y}, Pass::backward);
  graph.set_output("loss", y);
  EXPECT_EQ(print(graph),
            "%0 = input f32[8] x\n"
            "%1 = parameter f32[8] w @ %2+32\n"
            "%2 = state f32[16] flat\n"
            "# forward\n"
            "%3 = fake(%0, -, %1) fashion=plain : f32[8]  # y\n"
            "# backward\n"
            "%4 = fake(%3) fashion=plain : f32[8]  # y.grad\n"
            "output loss = %3\n");
}

}  // namespace
}  // namespace ptrain
