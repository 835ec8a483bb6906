#include "models/gru4rec.h"

#include "core/data/tensor_names.h"
#include "core/ops/concat.h"
#include "core/ops/linear.h"
#include "core/ops/sequence/recurrent.h"
#include "core/ops/tensor/gather.h"
#include "core/ops/tensor/reshape.h"
#include "core/ops/tensor/slice.h"
#include "core/ops/tensor/transpose.h"
#include "core/ops/text/embedding.h"

#include <cmath>

namespace ptrain {
namespace {

/// The authors' start, from the extents of a matrix; of one with three gates, its columns count a third.
Initializer start(std::int64_t rows, std::int64_t columns, float gates = 1) {
  return uniform_start(std::sqrt(6.0f / (static_cast<float>(rows) + static_cast<float>(columns) / gates)));
}

class Gru4RecBuilder final : public Blocks {
 public:
  Gru4RecBuilder(const Gru4RecSpec& spec, Mode mode) : Blocks(mode, spec.dropout), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    const std::int64_t sessions = batch.rows;
    const ValueId ids = graph_.add_input(tensor_names::ids, {DType::i32, Shape{sessions, spec_.max_length}});
    const ValueId lengths = graph_.add_input(tensor_names::lengths, {DType::i32, Shape{sessions}});
    add_rng();
    const ValueId table =
        parameter(make_variable("Wy.weight", Shape{spec_.items, spec_.units}, start(spec_.items, spec_.units)));
    const ValueId steps = add("steps", std::make_shared<Transpose>(std::vector{1, 0}), {ids});
    ValueId x = add("items", std::make_shared<Embedding>(), {steps, table});
    x = dropout("D.0", gru("G.0", x, lengths));
    if (is_deployed(mode())) {  // padding keeps the state after the last item
      const SliceAttributes last{.axis = 0, .begin = spec_.max_length - 1, .end = spec_.max_length};
      x = add("last_step", std::make_shared<Slice>(last), {x});
      x = add("last_state", std::make_shared<Reshape>(Shape{sessions, spec_.units}), {x});
    } else {
      x = add("states", std::make_shared<Transpose>(std::vector{1, 0, 2}), {x});
    }
    ModelVariable bias = make_variable("By.weight", Shape{spec_.items}, constant_start(0));
    bias.files.front().external_shape = Shape{spec_.items, 1};
    const ValueId biases = parameter(std::move(bias));
    if (mode() != Mode::training || !spec_.samples) {
      return finish(add("scores", std::make_shared<Linear>(), {x, table, biases}));
    }
    const ValueId items = add_candidates(sessions);
    const auto pick = std::make_shared<Gather>(GatherAttributes{});
    const ValueId rows = add("candidates.rows", pick, {table, items});
    const ValueId offsets = add("candidates.biases", pick, {biases, items});
    return finish(add("scores", std::make_shared<Linear>(), {x, rows, offsets}));
  }

 private:
  /// The items that come next in the batch's sessions, then those drawn: i32 [C]. Padding is -1.
  ValueId add_candidates(std::int64_t sessions) {
    ValueId items = graph_.add_input(tensor_names::next_tokens, {DType::i32, Shape{sessions * spec_.max_length}});
    if (spec_.negatives > 0) {
      const ValueId drawn =
          graph_.add_input(tensor_names::sampled_items, {DType::i32, Shape{sessions, spec_.negatives}});
      const ValueId flat =
          add("candidates.drawn", std::make_shared<Reshape>(Shape{sessions * spec_.negatives}), {drawn});
      items = add("candidates", std::make_shared<Concat>(0, AmpClass::extra_black), {items, flat});
    }
    graph_.set_output(tensor_names::candidates, items);
    return items;
  }

  ValueId gru(const std::string& name, ValueId x, ValueId lengths) {
    const std::int64_t units = spec_.units, gates = 3 * units;
    const auto zeros = [&](const char* kind) { return make_variable(name + kind, Shape{gates}, constant_start(0)); };
    const auto matrix = [&](const char* kind, std::int64_t inputs) {
      return make_variable(name + kind, Shape{gates, inputs}, start(gates, inputs, 3));
    };
    const ValueId projected = linear(name + ".gates", x, matrix(".weight_ih", channels(x)), zeros(".bias_ih"));
    const ValueId weight = parameter(matrix(".weight_hh", units)), bias = parameter(zeros(".bias_hh"));
    return graph_.add_node(name, std::make_shared<Recurrent>(RecurrentAttributes{RecurrentCell::gru}),
                           {projected, weight, bias, no_value, no_value, no_value, lengths})[Recurrent::y];
  }

  const Gru4RecSpec& spec_;
};

class Gru4Rec final : public Model {
 public:
  explicit Gru4Rec(const Gru4RecSpec& spec) : spec_(spec) {}

  std::string name() const override { return "gru4rec"; }
  std::string signature() const override {
    return fmt::format("{} items={} units={}", name(), spec_.items, spec_.units);
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override {
    return Gru4RecBuilder(spec_, mode).build(batch);
  }
  DataKind reads() const override { return DataKind::tokens; }

 private:
  Gru4RecSpec spec_;
};

}  // namespace

Gru4RecSpec gru4rec_spec(const Config& config, const DatasetInfo& data) {
  Gru4RecSpec spec;
  spec.items = std::max<std::int64_t>(config.model.vocab_size, data.vocab_size);
  spec.units = config.model.embedding_size;
  spec.max_length = data.max_length;
  spec.dropout = static_cast<float>(config.model.dropout);
  spec.negatives = config.data.source == "sessions" ? config.data.negatives : 0;
  spec.samples = spec.negatives > 0 || config.train.loss != ItemLoss::cross_entropy;
  return spec;
}

std::unique_ptr<Model> make_gru4rec(const Gru4RecSpec& spec) { return std::make_unique<Gru4Rec>(spec); }

}  // namespace ptrain
