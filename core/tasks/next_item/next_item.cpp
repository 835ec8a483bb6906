#include "core/tasks/next_item/next_item.h"

#include "core/data/tensor_names.h"
#include "core/ops/require.h"
#include "core/ops/tensor/gather.h"
#include "core/ops/tensor/reduce.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/select.h"
#include "core/tasks/next_item/next_item_metrics.h"

namespace ptrain {

std::vector<MetricInfo> NextItem::metrics(std::int64_t /*classes*/) const { return NextItemMetrics::infos(); }

std::unique_ptr<Metrics> NextItem::make_metrics(std::int64_t /*classes*/,
                                                const std::vector<std::string>& /*names*/) const {
  return std::make_unique<NextItemMetrics>();
}

void NextItem::add_measures(Graph& graph, ValueId logits, ValueId next) const {
  const Shape shape = graph.desc(logits).shape;
  const std::int64_t items = shape[-1], rows = shape.count() / items;
  const ValueId scores = graph.add("ranks.scores", std::make_shared<Reshape>(Shape{rows, items}), {logits});
  const ValueId indices = graph.add("ranks.indices", std::make_shared<Reshape>(Shape{rows, 1}), {next});
  const auto pick = std::make_shared<Gather>(GatherAttributes{.axis = -1, .batch_axes = 1});
  const ValueId target = graph.add("ranks.target", pick, {scores, indices});
  const auto at_least = std::make_shared<Compare>(CompareAttributes{Comparison::greater_equal});
  const ValueId mask = graph.add("ranks.mask", at_least, {scores, target});
  const ValueId ones = graph.add("ranks.ones", std::make_shared<Where>(WhereAttributes{.if_true = 1}), {mask});
  const auto sum = std::make_shared<Reduce>(ReduceAttributes{.axes = {-1}, .sums = AmpClass::extra_black});
  const ValueId ranks = graph.add("ranks.sum", sum, {ones});
  graph.clear_outputs();
  graph.set_output(tensor_names::target_ranks,
                   graph.add("ranks", std::make_shared<Reshape>(leading_shape(shape)), {ranks}));
}

}  // namespace ptrain
