#include "models/clicks/click_blocks.h"

#include "core/data/tensor_names.h"
#include "core/ops/activation.h"
#include "core/ops/concat.h"
#include "core/ops/elementwise.h"
#include "core/ops/sparse/embedding_bag.h"
#include "core/ops/text/embedding.h"

#include <fmt/format.h>

#include <cmath>

namespace ptrain {

ClickBlocks::ClickBlocks(const ClickSpec& spec, const Bucket& batch, Mode mode) : Blocks(mode), spec_(spec) {
  dense_features_ =
      graph_.add_input(tensor_names::dense_features, {DType::f32, Shape{batch.rows, spec.dense_features}});
  categorical_features_ =
      graph_.add_input(tensor_names::categorical_features, {DType::i32, Shape{batch.rows, spec.categorical_features}});
}

ValueId ClickBlocks::look_up(const std::string& name, Initializer start) {
  const Shape shape{spec_.hash_buckets, spec_.embedding_size};
  const ValueId table = parameter(make_variable(name + ".weight", shape, start));
  return add(name, std::make_shared<Embedding>(TableGradient::sparse), {categorical_features_, table});
}

ValueId ClickBlocks::weigh_features(const std::string& name) {
  const ValueId numbers = dense(name + ".numbers", dense_features_, 1);
  const std::string words = name + ".words";
  const ValueId table = parameter(make_variable(words + ".weight", Shape{spec_.hash_buckets, 1}, constant_start(0)));
  const auto bag = std::make_shared<EmbeddingBag>(TableGradient::sparse);
  return sum(name, numbers, add(words, bag, {categorical_features_, table}));
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

ValueId ClickBlocks::score_deeply(std::vector<ValueId> inputs, std::span<const std::int64_t> outputs) {
  const ValueId joined = add("deep.inputs", std::make_shared<Concat>(), std::move(inputs));
  return dense("deep.output", dense_layers("deep.layers", joined, outputs), 1);
}

ValueId ClickBlocks::sum(const std::string& name, ValueId a, ValueId b) {
  return add(name, std::make_shared<Add>(), {a, b});
}

}  // namespace ptrain
