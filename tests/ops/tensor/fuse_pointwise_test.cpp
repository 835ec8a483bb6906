#include "core/passes/pointwise/fuse_pointwise.h"

#include "core/ops/elementwise.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/unary.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <map>

namespace ptrain::testing {
namespace fuse_pointwise_test {

OpPtr unary(UnaryFunction function, PointwiseConstants constants = {}) {
  return std::make_shared<Unary>(UnaryAttributes{function, constants});
}
OpPtr binary(BinaryFunction function) { return std::make_shared<Binary>(function); }

/// The mean of log(1 + (x scale - offset)^2), and its gradients.
Differentiated example() {
  Graph graph;
  const ValueId x = graph.add_parameter("x", Shape{6, 90}), scale = graph.add_parameter("scale", Shape{90});
  const ValueId offset = graph.add_parameter("offset", Shape{6, 1});
  const ValueId scaled = graph.add("scaled", binary(BinaryFunction::mul), {x, scale});
  const ValueId error = graph.add("error", binary(BinaryFunction::sub), {scaled, offset});
  const ValueId squared = graph.add("squared", unary(UnaryFunction::square), {error});
  const ValueId loss_of_each = graph.add("loss_of_each", unary(UnaryFunction::log1p), {squared});
  const ValueId loss = graph.add("mean", std::make_shared<Reduce>(ReduceAttributes{ReduceKind::mean}), {loss_of_each});
  graph.set_output("loss", loss);
  const ValueId seed = graph.add_value("seed", graph.desc(loss), Storage::state);
  return differentiate(std::move(graph), {{loss, seed}});
}

std::map<std::string, int> count_types(const Graph& graph) {
  std::map<std::string, int> types;
  for (const Node& node : graph.nodes()) ++types[std::string(node.op->type())];
  return types;
}

/// The loss and all gradients.
std::vector<std::vector<float>> run(Differentiated d) {
  for (const ParameterGradient& g : d.gradients) d.graph.set_output("g" + std::to_string(g.parameter), g.gradient);
  verify(d.graph);
  const std::unique_ptr<Backend> backend = make_test_backend();
  Variables variables(backend->memory());
  Plan plan(d.graph, *backend, variables, test_plan_options());
  variables.allocate();
  const PlanMemory memory(backend->memory(), std::initializer_list<const Plan*>{&plan});
  plan.bind(memory);
  std::uint64_t seed = 1;
  for (const Value& value : d.graph.values()) {
    if (value.storage == Storage::activation) continue;
    const HostTensor t = random_tensor(DType::f32, value.desc.shape, seed++, 0.5, 2);
    const std::vector<float> values(t.values.begin(), t.values.end());
    variables.write(value.name, values.data(), values.size() * sizeof(float));
  }
  plan.run(Pass::forward, Pass::update);
  std::vector<std::vector<float>> results;
  for (const auto& output : d.graph.outputs()) {
    results.emplace_back(static_cast<std::size_t>(d.graph.desc(output.second).count()));
    plan.read_value(output.second, results.back().data(), results.back().size() * sizeof(float));
  }
  return results;
}

TEST(FusePointwise, LossAndGradientsStayTheSameBitForBit) {
  const Differentiated before = example();
  EXPECT_EQ(run(fuse_pointwise(before)), run(before));
}

TEST(FusePointwise, JoinsWhatIsReadByOneAlone) {
  const Graph before = example().graph, after = fuse_pointwise(example()).graph;
  EXPECT_LT(after.nodes().size(), before.nodes().size());
  const auto types = count_types(after);
  EXPECT_FALSE(types.contains("log1p_grad"));  // what it makes, square's gradient alone reads
  EXPECT_TRUE(types.contains("square"));       // which log1p and its gradient read
  EXPECT_GE(types.at("pointwise_chain"), 2);
}

TEST(FusePointwise, LeavesOutputsOfTheGraphAndOtherShapesAlone) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::f32, Shape{4, 1}}), y = graph.add_input("y", {DType::f32, Shape{5}});
  const ValueId small = graph.add("small", unary(UnaryFunction::exp), {x});
  const ValueId large = graph.add("large", binary(BinaryFunction::mul), {small, y});
  const ValueId last = graph.add("last", unary(UnaryFunction::neg), {large});
  graph.set_output("large", large);
  graph.set_output("last", last);
  EXPECT_EQ(print(fuse_pointwise(graph)), print(graph));
}

TEST(FusePointwise, ChainsHaveAsManyStepsAsTheyCan) {
  Graph graph;
  ValueId value = graph.add_input("x", {DType::f32, Shape{4}});
  for (int i = 0; i < 20; ++i) value = graph.add("step" + std::to_string(i), unary(UnaryFunction::neg), {value});
  graph.set_output("y", value);
  EXPECT_EQ(count_types(fuse_pointwise(graph)), (std::map<std::string, int>{{"pointwise_chain", 3}}));
}

}  // namespace fuse_pointwise_test
}  // namespace ptrain::testing
