#include "models/clicks/click_blocks.h"

#include "core/data/tensor_names.h"
#include "core/ops/activation.h"
#include "core/ops/concat.h"
#include "core/ops/elementwise.h"
#include "core/ops/sparse/embedding_bag.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/select.h"
#include "core/ops/tensor/unary.h"
#include "core/ops/text/embedding.h"

#include <fmt/format.h>

#include <cmath>

namespace ptrain {

ClickBlocks::ClickBlocks(const ClickSpec& spec, const Bucket& batch, Mode mode) : Blocks(mode), spec_(spec) {
  if (spec.dense_features > 0) {
    dense_features_ =
        graph_.add_input(tensor_names::dense_features, {DType::f32, Shape{batch.rows, spec.dense_features}});
  }
  const Shape ids = spec.bag_size > 0 ? Shape{batch.rows, spec.categorical_features, spec.bag_size}
                                      : Shape{batch.rows, spec.categorical_features};
  const DType dtype = spec.dynamic_table ? DType::i64 : DType::i32;
  categorical_features_ = graph_.add_input(tensor_names::categorical_features, {dtype, ids});
  if (spec.dynamic_table) find_rows();
}

void ClickBlocks::find_rows() {
  const std::int64_t capacity = spec_.hash_buckets;
  const FindRowsAttributes attributes = training() ? *spec_.dynamic_table : FindRowsAttributes{};
  std::vector<ValueId> inputs(FindRows::input_count, no_value);
  const auto add_state = [&](FindRows::Input input, const char* name, DType dtype, std::int64_t count) {
    inputs[static_cast<std::size_t>(input)] = graph_.add_state(name, {dtype, Shape{count}});
  };
  inputs[FindRows::keys] = keys_ = categorical_features_;
  add_state(FindRows::index_keys, row_index::keys, DType::i64, capacity);
  add_state(FindRows::slots, row_index::slots, DType::i32, RowIndex::slots_for(capacity));
  add_state(FindRows::counts, row_index::counts, DType::i64, RowIndex::counts_size);
  if (attributes.admit_after > 1) {
    add_state(FindRows::seen, row_index::seen, DType::u8, RowIndex::counters_for(capacity));
  }
  if (attributes.sweep) {
    add_state(FindRows::scores, row_index::scores, DType::f32, capacity);
    add_state(FindRows::freed, row_index::freed, DType::i32, capacity);
  }
  const std::vector<ValueId> found =
      graph_.add_node("find_rows", std::make_shared<FindRows>(attributes), std::move(inputs));
  categorical_features_ = found[FindRows::rows];
  if (training()) fresh_rows_ = found[FindRows::fresh];
}

ValueId ClickBlocks::add_table(const std::string& name, std::int64_t width, Initializer start) {
  const std::string variable_name = name + ".weight";
  ModelVariable variable = make_variable(variable_name, Shape{spec_.hash_buckets, width}, start);
  variable.is_dynamic = spec_.dynamic_table.has_value();
  const ValueId table = parameter(std::move(variable));
  if (fresh_rows_ == no_value) return table;
  const StartRowsAttributes attributes{start, spec_.seed, random_stream_number(variable_name)};
  graph_.add_node(name + ".start", std::make_shared<StartRows>(attributes), {fresh_rows_, keys_, table});
  return table;
}

ValueId ClickBlocks::look_up(const std::string& name, Initializer start) {
  const ValueId table = add_table(name, spec_.embedding_size, start);
  if (spec_.bag_size > 0) return reduce_bags(name, table);
  return add(name, std::make_shared<Embedding>(TableGradient::sparse), {categorical_features_, table});
}

ValueId ClickBlocks::weigh_features(const std::string& name) {
  const ValueId numbers = dense_features_ == no_value ? no_value : dense(name + ".numbers", dense_features_, 1);
  const std::string words = name + ".words";
  const ValueId table = add_table(words, 1, constant_start(0));
  const ValueId weights = spec_.bag_size > 0 ? total_over(words + ".sum", reduce_bags(words, table), KeepDims::no)
                                             : add(words, std::make_shared<EmbeddingBag>(TableGradient::sparse),
                                                   {categorical_features_, table});
  return numbers == no_value ? weights : sum(name, numbers, weights);
}

ValueId ClickBlocks::reduce_bags(const std::string& name, ValueId table) {
  const ValueId sums = add(name, std::make_shared<EmbeddingBag>(TableGradient::sparse), {categorical_features_, table});
  switch (spec_.bag) {
    case BagMode::sum:
      break;
    case BagMode::mean:
      return add(name + ".mean", std::make_shared<Binary>(BinaryFunction::div), {sums, count_ids()});
  }
  return sums;
}

ValueId ClickBlocks::count_ids() {
  if (bag_counts_ != no_value) return bag_counts_;
  const ValueId is_id = add("bags.is_id", std::make_shared<Compare>(CompareAttributes{Comparison::greater_equal, 0}),
                            {categorical_features_});
  const ValueId ones = add("bags.ones", std::make_shared<Where>(WhereAttributes{.if_true = 1}), {is_id});
  const auto add_up = std::make_shared<Reduce>(ReduceAttributes{ReduceKind::sum, {2}, KeepDims::yes});
  const auto at_least_one = std::make_shared<Unary>(
      UnaryAttributes{UnaryFunction::clamp, {1, static_cast<float>(std::max<std::int64_t>(1, spec_.bag_size))}});
  return bag_counts_ = add("bags.counts", at_least_one, {add("bags.sums", add_up, {ones})});
}

ValueId ClickBlocks::dense(const std::string& name, ValueId x, std::int64_t outputs) {
  const float deviation = 1 / std::sqrt(static_cast<float>(channels(x)));
  return linear(name, x, make_variable(name + ".weight", Shape{outputs, channels(x)}, normal_start(deviation)),
                make_variable(name + ".bias", Shape{outputs}, constant_start(0)));
}

ValueId ClickBlocks::dense_layers(const std::string& name, ValueId x, std::span<const std::int64_t> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string layer = fmt::format("{}.{}", name, i);
    x = dense(layer, x, outputs[i]);
    x = add(layer + ".relu", std::make_shared<ActivationOp>(Activation::relu), {x});
  }
  return x;
}

std::vector<ValueId> ClickBlocks::with_dense_features(ValueId x) const {
  if (dense_features_ == no_value) return {x};
  return {x, dense_features_};
}

ValueId ClickBlocks::total_over(const std::string& name, ValueId x, KeepDims keep) {
  return add(name, std::make_shared<Reduce>(ReduceAttributes{ReduceKind::sum, {1}, keep}), {x});
}

ValueId ClickBlocks::score_deeply(std::vector<ValueId> inputs, std::span<const std::int64_t> outputs) {
  const ValueId joined = add("deep.inputs", std::make_shared<Concat>(), std::move(inputs));
  return dense("deep.output", dense_layers("deep.layers", joined, outputs), 1);
}

ValueId ClickBlocks::sum(const std::string& name, ValueId a, ValueId b) {
  return add(name, std::make_shared<Add>(), {a, b});
}

}  // namespace ptrain
