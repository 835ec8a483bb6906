#include "models/sessions/session_blocks.h"

#include "core/data/tensor_names.h"
#include "core/ops/concat.h"
#include "core/ops/linear.h"
#include "core/ops/tensor/gather.h"
#include "core/ops/tensor/slice.h"
#include "core/ops/tensor/transpose.h"
#include "core/ops/text/embedding.h"

#include <cmath>

namespace ptrain {

SessionSpec session_spec(const Config& config, const DatasetInfo& data) {
  SessionSpec spec;
  spec.items = std::max<std::int64_t>(config.model.vocab_size, data.vocab_size);
  spec.units = config.model.embedding_size;
  spec.max_length = data.max_length;
  spec.dropout = static_cast<float>(config.model.dropout);
  spec.negatives = config.data.source == "sessions" ? config.data.negatives : 0;
  spec.samples = spec.negatives > 0 || config.train.loss != ItemLoss::cross_entropy;
  return spec;
}

Initializer SessionBlocks::start(std::int64_t rows, std::int64_t columns, float gates) {
  return uniform_start(std::sqrt(6.0f / (static_cast<float>(rows) + static_cast<float>(columns) / gates)));
}

ValueId SessionBlocks::look_up_steps(std::int64_t sessions, ValueId table) {
  const ValueId ids = graph_.add_input(tensor_names::ids, {DType::i32, Shape{sessions, spec_.max_length}});
  lengths_ = graph_.add_input(tensor_names::lengths, {DType::i32, Shape{sessions}});
  add_rng();
  const ValueId steps = add("steps", std::make_shared<Transpose>(std::vector{1, 0}), {ids});
  return add("items", std::make_shared<Embedding>(), {steps, table});
}

ValueId SessionBlocks::gru(const std::string& name, ValueId x, RecurrentCell cell) {
  const std::int64_t units = spec_.units, gates = count_gates(cell) * units;
  const auto zeros = [&](const char* kind) { return make_variable(name + kind, Shape{gates}, constant_start(0)); };
  const auto matrix = [&](const char* kind, std::int64_t inputs) {
    return make_variable(name + kind, Shape{gates, inputs},
                         start(gates, inputs, static_cast<float>(count_gates(cell))));
  };
  const ValueId projected = linear(name + ".gates", x, matrix(".weight_ih", channels(x)), zeros(".bias_ih"));
  const ValueId weight = parameter(matrix(".weight_hh", units));
  const ValueId bias = cell == RecurrentCell::gru_reset_first ? no_value : parameter(zeros(".bias_hh"));
  return graph_.add_node(name, std::make_shared<Recurrent>(RecurrentAttributes{cell}),
                         {projected, weight, bias, no_value, no_value, no_value, lengths_})[Recurrent::y];
}

ValueId SessionBlocks::by_session(ValueId steps) {
  if (!is_deployed(mode())) return add("states", std::make_shared<Transpose>(std::vector{1, 0, 2}), {steps});
  // Padding keeps the state after the last item.
  const SliceAttributes last{.axis = 0, .begin = spec_.max_length - 1, .end = spec_.max_length};
  const ValueId x = add("last_step", std::make_shared<Slice>(last), {steps});
  return reshape("last_state", x, Shape{graph_.desc(x).shape[1], channels(x)});
}

ValueId SessionBlocks::add_candidates(std::int64_t sessions) {
  ValueId items = graph_.add_input(tensor_names::next_tokens, {DType::i32, Shape{sessions * spec_.max_length}});
  if (spec_.negatives > 0) {
    const ValueId drawn = graph_.add_input(tensor_names::sampled_items, {DType::i32, Shape{sessions, spec_.negatives}});
    const ValueId flat = reshape("candidates.drawn", drawn, Shape{sessions * spec_.negatives});
    items = add("candidates", std::make_shared<Concat>(0, AmpClass::extra_black), {items, flat});
  }
  graph_.set_output(tensor_names::candidates, items);
  return items;
}

ValueId SessionBlocks::pick(const std::string& name, ValueId table, ValueId candidates) {
  return add(name, std::make_shared<Gather>(GatherAttributes{}), {table, candidates});
}

}  // namespace ptrain
