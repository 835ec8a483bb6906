#include "core/tasks/next_item/next_item.h"

#include "core/data/tensor_names.h"
#include "core/ops/require.h"
#include "core/tasks/loss_builder.h"
#include "core/tasks/next_item/next_item_metrics.h"

#include <limits>
#include <numeric>

namespace ptrain {

namespace {

constexpr const char* own_candidates = "own_candidates";  // i32 [N,S], collate()'s: where a next item is among them
constexpr float impossible = -3e4f;                       // score of candidates that do not count; fp16 has it

/// Of R next items, each compared with C candidates.
class ItemLosses {
 public:
  ItemLosses(Graph& graph, ValueId candidates, const TaskOptions& options)
      : build_(graph, "item_loss"), options_(options) {
    const Shape shape = build_.shape(build_.output(tensor_names::logits));  // [N,S,C]
    const std::int64_t rows = shape[0] * shape[1], count = shape[2];
    ValueId scores = build_.reshape(build_.output(tensor_names::logits), {rows, count});
    if (options.logq > 0) scores = correct(graph, scores, shape);
    next_ = build_.input(tensor_names::next_tokens);
    const ValueId own = graph.add_input(own_candidates, {DType::i32, Shape{shape[0], shape[1]}});
    const auto pick = std::make_shared<Gather>(GatherAttributes{.axis = -1, .batch_axes = 1});
    positive_ = build_.add(pick, {scores, build_.reshape(own, {rows, 1})});
    const ValueId items = build_.reshape(candidates, {1, count});
    const ValueId is_own = build_.is_equal(build_.reshape(next_, {rows, 1}), items);
    const ValueId is_padding = build_.add(std::make_shared<Compare>(CompareAttributes{Comparison::less, 0}), {items});
    negatives_ = build_.replace_where(is_padding, impossible, build_.replace_where(is_own, impossible, scores));
    const ValueId counts = build_.add(std::make_shared<Where>(WhereAttributes{0, 1}), {is_own});
    counted_ = build_.replace_where(is_padding, 0, counts);
  }

  /// That loss, f32 [].
  ValueId add(ItemLoss loss) {
    switch (loss) {
      case ItemLoss::bpr:
        return bpr();
      case ItemLoss::bpr_max:
        return bpr_max();
      case ItemLoss::hinge:
        return hinge();
      case ItemLoss::cross_entropy:
        break;
    }
    return cross_entropy();
  }

 private:
  /// Softmax cross entropy of the next item and the candidates that are others.
  ValueId cross_entropy() {
    const ValueId first =
        build_.add(std::make_shared<Where>(WhereAttributes{0, static_cast<float>(ignored_label), DType::i32}),
                   {build_.is_at_least(next_, 0)});
    return build_.add(std::make_shared<SoftmaxCrossEntropy>(options_.label_smoothing),
                      {build_.concatenate({positive_, negatives_}, 1), first});
  }

  /// The mean of -log sigmoid(positive - negative).
  ValueId bpr() { return mean_over_others(count_against()); }

  /// The mean of what the positive lacks to be higher than the negative by the margin.
  ValueId hinge() {
    const ValueId difference = build_.combine(BinaryFunction::sub, negatives_, positive_);
    return mean_over_others(at_least(build_.apply(UnaryFunction::affine, difference, {1, options_.hinge_margin}), 0));
  }

  /// -log of the mean of sigmoid(positive - negative), and the mean of the squared negatives, both weighted by the
  /// softmax of the negatives.
  ValueId bpr_max() {
    const ValueId largest = build_.reduce_rows(ReduceKind::max, negatives_);
    const ValueId shares =
        build_.combine(BinaryFunction::mul, counted_,
                       build_.apply(UnaryFunction::exp, build_.combine(BinaryFunction::sub, negatives_, largest)));
    const ValueId sum = at_least(build_.reduce_rows(ReduceKind::sum, shares), least);
    const ValueId agreeing = build_.apply(UnaryFunction::exp, build_.apply(UnaryFunction::neg, count_against()));
    const ValueId rank = build_.combine(BinaryFunction::div, weigh(shares, agreeing), sum);
    const ValueId loss = build_.apply(UnaryFunction::neg, build_.apply(UnaryFunction::log, at_least(rank, least)));
    const ValueId squares =
        build_.combine(BinaryFunction::div, weigh(shares, build_.apply(UnaryFunction::square, negatives_)), sum);
    return mean(build_.combine(BinaryFunction::add, loss,
                               build_.apply(UnaryFunction::affine, squares, {options_.bpr_regularization, 0})));
  }

  static constexpr float least = 1e-24f;

  /// Scores less the logarithms of how often candidates are among a batch's.
  ValueId correct(Graph& graph, ValueId scores, const Shape& shape) {
    const std::int64_t next = shape[0] * shape[1], drawn = shape[2] - next;
    const auto input = [&](const char* name, std::int64_t count) {
      const ValueId shares = graph.add_input(name, {DType::f32, Shape{shape[0], count / shape[0]}});
      return build_.reshape(shares, {1, count});
    };
    const ValueId shares =
        build_.add(std::make_shared<Concat>(1, AmpClass::extra_black),
                   {input(tensor_names::next_shares, next), input(tensor_names::sampled_shares, drawn)});
    return build_.combine(BinaryFunction::sub, scores, build_.apply(UnaryFunction::affine, shares, {options_.logq, 0}));
  }
  /// -log sigmoid(positive - negative), [R,C].
  ValueId count_against() {
    return build_.apply(UnaryFunction::softplus, build_.combine(BinaryFunction::sub, negatives_, positive_));
  }
  ValueId weigh(ValueId shares, ValueId values) {
    return build_.reduce_rows(ReduceKind::sum, build_.combine(BinaryFunction::mul, shares, values));
  }
  ValueId at_least(ValueId x, float bound) {
    return build_.apply(UnaryFunction::clamp, x, {bound, std::numeric_limits<float>::max()});
  }
  /// The mean of terms [R,C] of the candidates that are others.
  ValueId mean_over_others(ValueId terms) {
    const ValueId sum = weigh(counted_, terms), number = at_least(build_.reduce_rows(ReduceKind::sum, counted_), 1);
    return mean(build_.combine(BinaryFunction::div, sum, number));
  }
  /// Over the rows [R,1] that have a next item.
  ValueId mean(ValueId terms) {
    const ValueId weights = build_.weigh(next_, 0, 1);
    return build_.mean(terms, weights, build_.sum(weights));
  }

  LossBuilder build_;
  const TaskOptions options_;
  ValueId next_ = no_value, positive_ = no_value, negatives_ = no_value, counted_ = no_value;
};

}  // namespace

std::vector<Loss> NextItem::add_losses(Graph& graph, Mode mode) const {
  const ValueId candidates = graph.find_output(tensor_names::candidates);
  if (mode != Mode::training || candidates == no_value) return LanguageModel::add_losses(graph, mode);
  const TaskOptions chosen = options(mode);
  ItemLosses losses(graph, candidates, chosen);
  return {{std::string(enum_name(chosen.item_loss)), losses.add(chosen.item_loss)}};
}

void NextItem::collate(Batch& batch) const {
  LanguageModel::collate(batch);
  const bool has_candidates =
      batch.has(tensor_names::sampled_items) || options(Mode::training).item_loss != ItemLoss::cross_entropy;
  if (!has_candidates) return;
  const std::int64_t length = batch.at(tensor_names::ids).row_count();
  if (!batch.has(own_candidates)) batch.add({own_candidates, DType::i32, Shape{length}});
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    const std::span<std::int32_t> own = batch.at(own_candidates).row<std::int32_t>(row);
    std::iota(own.begin(), own.end(), static_cast<std::int32_t>(row * length));
  }
}

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
