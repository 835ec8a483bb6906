#include "models/wide_deep.h"

#include "core/data/tensor_names.h"
#include "core/ops/activation.h"
#include "core/ops/concat.h"
#include "core/ops/elementwise.h"
#include "core/ops/sparse/embedding_bag.h"
#include "core/ops/text/embedding.h"

#include <array>
#include <cmath>

namespace ptrain {
namespace {

constexpr std::array<std::int64_t, 4> hidden{512, 256, 128, 32};

class WideDeepBuilder final : public Blocks {
 public:
  WideDeepBuilder(const WideDeepSpec& spec, Mode mode) : Blocks(mode), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    const ValueId dense_features =
        graph_.add_input(tensor_names::dense_features, {DType::f32, Shape{batch.rows, spec_.dense_features}});
    const ValueId categorical_features = graph_.add_input(tensor_names::categorical_features,
                                                          {DType::i32, Shape{batch.rows, spec_.categorical_features}});
    const ValueId both = sum("wide", wide_dense(dense_features), wide_categorical(categorical_features));
    return finish(sum("logits", both, deep(dense_features, categorical_features)));
  }

 private:
  ValueId wide_dense(ValueId dense_features) { return dense("wide.numbers", dense_features, 1); }

  ValueId wide_categorical(ValueId categorical_features) {
    const ValueId table =
        parameter(make_variable("wide.words.weight", Shape{spec_.hash_buckets, 1}, constant_start(0)));
    return add("wide.words", std::make_shared<EmbeddingBag>(TableGradient::sparse), {categorical_features, table});
  }

  ValueId deep(ValueId dense_features, ValueId categorical_features) {
    const Shape shape{spec_.hash_buckets, spec_.embedding_size};
    const ValueId table = parameter(make_variable("deep.words.weight", shape, uniform_start(1)));
    const ValueId rows =
        add("deep.words", std::make_shared<Embedding>(TableGradient::sparse), {categorical_features, table});
    ValueId x = add("deep.inputs", std::make_shared<Concat>(), {rows, dense_features});
    for (std::size_t layer = 0; layer < hidden.size(); ++layer) {
      x = dense(fmt::format("deep.layers.{}", layer), x, hidden[layer]);
      x = add(fmt::format("deep.layers.{}.relu", layer), std::make_shared<ActivationOp>(Activation::relu), {x});
    }
    return dense("deep.output", x, 1);
  }

  /// PaddleRec's initialisation: weights of variance 1 / inputs.
  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs) {
    const float deviation = 1 / std::sqrt(static_cast<float>(channels(x)));
    return linear(name, x, make_variable(name + ".weight", Shape{outputs, channels(x)}, normal_start(deviation)),
                  make_variable(name + ".bias", Shape{outputs}, constant_start(0)));
  }

  ValueId sum(const std::string& name, ValueId a, ValueId b) { return add(name, std::make_shared<Add>(), {a, b}); }

  const WideDeepSpec& spec_;
};

class WideDeep final : public Model {
 public:
  explicit WideDeep(const WideDeepSpec& spec) : spec_(spec) {}

  std::string name() const override { return "wide_deep"; }
  std::string signature() const override {
    return fmt::format("{} hash_buckets={} embedding_size={}", name(), spec_.hash_buckets, spec_.embedding_size);
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override {
    return WideDeepBuilder(spec_, mode).build(batch);
  }
  DataKind reads() const override { return DataKind::table; }

 private:
  WideDeepSpec spec_;
};

}  // namespace

WideDeepSpec wide_deep_spec(const Config& config, const DatasetInfo& data) {
  WideDeepSpec spec;
  spec.dense_features = data.dense_features;
  spec.categorical_features = data.categorical_features;
  spec.hash_buckets = config.model.hash_buckets;
  spec.embedding_size = config.model.embedding_size;
  return spec;
}

std::unique_ptr<Model> make_wide_deep(const WideDeepSpec& spec) { return std::make_unique<WideDeep>(spec); }

}  // namespace ptrain
