#include "models/text/text_blocks.h"

#include "core/data/tensor_names.h"
#include "core/ops/elementwise.h"

#include <algorithm>
#include <bit>

namespace ptrain {

std::int64_t capacity_for(std::int64_t tokens, std::int64_t most) {
  constexpr std::int64_t least_granule = 16;
  const auto round_up = [](std::int64_t n, std::int64_t granule) { return (n + granule - 1) / granule * granule; };
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(tokens)));
  return std::min(round_up(tokens, std::max(least_granule, below / 8)), round_up(most, least_granule));
}

Bucket packed_bucket(const Bucket& batch, std::int64_t max_length) {
  return Bucket(batch).set(extent_names::tokens, capacity_for(batch.tokens(), batch.rows * max_length));
}

TextBlocks::Tokens TextBlocks::inputs(const Bucket& batch, std::int64_t max_length) {
  const std::int64_t rows = batch.rows;
  std::int64_t capacity = batch.tokens();
  if (capacity == 0) capacity = capacity_for(rows * max_length, rows * max_length);
  const TensorDesc tokens{DType::i32, packed_ ? Shape{capacity} : Shape{rows, max_length}};
  const ValueId ids = graph_.add_input(tensor_names::ids, tokens);
  const ValueId types = graph_.add_input(tensor_names::token_types, tokens);
  lengths_ = graph_.add_input(tensor_names::lengths, {DType::i32, Shape{rows}});
  if (packed_) offsets_ = graph_.add_input(tensor_names::offsets, {DType::i32, Shape{rows + 1}});
  add_rng();
  return {ids, types};
}

ModelVariable TextBlocks::without_prefix(ModelVariable variable) const {
  for (WeightMapping& file : variable.files) {
    std::vector<std::string> names;
    std::vector<std::string> full = std::move(file.other_names);
    full.insert(full.begin(), file.external);
    for (const std::string& name : full) {
      names.push_back(name);
      if (name.starts_with(file_prefix_)) names.push_back(name.substr(file_prefix_.size()));
    }
    file.other_names.assign(names.begin() + 1, names.end());
  }
  return variable;
}

ModelVariable TextBlocks::matrix(const std::string& name, std::int64_t rows, std::int64_t columns) const {
  return without_prefix(make_variable(name, Shape{rows, columns}, normal_start(0.02f)));
}

ModelVariable TextBlocks::zeros(const std::string& name, std::int64_t size) const {
  return without_prefix(make_variable(name, Shape{size}, constant_start(0)));
}

ValueId TextBlocks::dense(const std::string& name, ValueId x, std::int64_t outputs) {
  return linear(name, x, matrix(name + ".weight", outputs, channels(x)), zeros(name + ".bias", outputs));
}

ValueId TextBlocks::joined_dense(const std::string& prefix, const std::string& joined,
                                 const std::vector<std::string>& parts, ValueId x, std::int64_t outputs_each) {
  const std::string name = prefix + "." + joined;
  const auto outputs = static_cast<std::int64_t>(parts.size()) * outputs_each;
  ModelVariable weight = matrix(name + ".weight", outputs, channels(x));
  ModelVariable bias = zeros(name + ".bias", outputs);
  for (const auto& [variable, kind] : {std::pair{&weight, ".weight"}, {&bias, ".bias"}}) {
    variable->files.clear();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::vector<std::int64_t> dims = variable->shape.dims();
      dims[0] = outputs_each;
      variable->files.push_back({.variable = variable->name,
                                 .external = prefix + "." + parts[i] + kind,
                                 .external_shape = Shape(dims),
                                 .row_begin = static_cast<std::int64_t>(i) * outputs_each});
    }
    *variable = without_prefix(std::move(*variable));
  }
  return linear(name, x, std::move(weight), std::move(bias));
}

ValueId TextBlocks::layer_norm(const std::string& name, ValueId x, float epsilon) {
  const Shape width{channels(x)};
  ModelVariable scale = make_variable(name + ".weight", width, constant_start(1));
  ModelVariable offset = make_variable(name + ".bias", width, constant_start(0));
  scale.files.front().other_names = {name + ".gamma"};  // in the first published files
  offset.files.front().other_names = {name + ".beta"};
  return Blocks::layer_norm(name, x, epsilon, without_prefix(std::move(scale)), without_prefix(std::move(offset)));
}

ValueId TextBlocks::residual_norm(const std::string& name, const std::string& norm, ValueId x, ValueId residual,
                                  float epsilon) {
  const ValueId sum = add(name + ".add", std::make_shared<Add>(), {dropout(name + ".dropout", x), residual});
  return layer_norm(norm, sum, epsilon);
}

std::vector<ValueId> TextBlocks::with_offsets(std::vector<ValueId> inputs) const {
  if (packed_) inputs.push_back(offsets_);
  return inputs;
}

}  // namespace ptrain
