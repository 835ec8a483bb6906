#include "models/text/text_blocks.h"

#include "core/base/round_up.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/text/gather_token.h"

#include <algorithm>
#include <bit>

namespace ptrain {

std::int64_t capacity_for(std::int64_t tokens, std::int64_t most) {
  constexpr std::int64_t least_granule = 16;
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(tokens)));
  return std::min(round_up(tokens, std::max(least_granule, below / 8)), round_up(most, least_granule));
}

Bucket packed_bucket(const Bucket& batch, std::int64_t max_length, Mode mode) {
  if (mode == Mode::decoding && batch.tokens() <= batch.rows) {
    return Bucket(batch).set(extent_names::tokens, batch.rows);
  }
  return Bucket(batch).set(extent_names::tokens, capacity_for(batch.tokens(), batch.rows * max_length));
}

TextBlocks::Tokens TextBlocks::inputs(const Bucket& batch, std::int64_t max_length, TokenTypes token_types) {
  const std::int64_t rows = batch.rows;
  std::int64_t capacity = batch.tokens();
  if (capacity == 0) capacity = capacity_for(rows * max_length, rows * max_length);
  const TensorDesc tokens{DType::i32, packed_ ? Shape{capacity} : Shape{rows, max_length}};
  const ValueId ids = graph_.add_input(tensor_names::ids, tokens);
  const ValueId types =
      token_types == TokenTypes::read ? graph_.add_input(tensor_names::token_types, tokens) : no_value;
  lengths_ = graph_.add_input(tensor_names::lengths, {DType::i32, Shape{rows}});
  if (packed_) offsets_ = graph_.add_input(tensor_names::offsets, {DType::i32, Shape{rows + 1}});
  if (has_cache(mode())) {
    slots_ = graph_.add_input(tensor_names::cache_slots, {DType::i32, Shape{rows}});
    past_ = graph_.add_input(tensor_names::past, {DType::i32, Shape{rows}});
  }
  extents_ = batch;
  max_length_ = max_length;
  add_rng();
  return {ids, types};
}

ValueId TextBlocks::attend(const std::string& name, AttentionAttributes attributes, ValueId qkv) {
  if (has_cache(mode()) && attributes.causal) {  // nothing is added to a text that is seen whole
    const int kv_heads = attributes.kv_heads > 0 ? attributes.kv_heads : attributes.heads;
    const CacheAttributes cache{attributes.heads, kv_heads};
    const LayerCache layer = add_cache(name, kv_heads, channels(qkv) / (attributes.heads + 2 * kv_heads));
    qkv = append(name + ".cache", cache, layer, qkv, offsets_);
    if (mode() == Mode::decoding) {
      return add(name, std::make_shared<CachedAttention>(cache),
                 {qkv, layer.keys, layer.values, slots_, offsets_, past_});
    }
  }
  attributes.max_length = packed_ ? max_length_ : 0;
  return add(name, std::make_shared<Attention>(attributes), with_offsets({qkv, lengths_, rng_}));
}

TextBlocks::LayerCache TextBlocks::add_cache(const std::string& name, std::int64_t kv_heads, std::int64_t depth) {
  const Shape shape{extents_.get(extent_names::cache_slots), kv_heads, extents_.get(extent_names::cache_length), depth};
  return {graph_.add_state(name + ".cached_keys", {DType::f32, shape}),
          graph_.add_state(name + ".cached_values", {DType::f32, shape})};
}

ValueId TextBlocks::append(const std::string& name, const CacheAttributes& attributes, const LayerCache& cache,
                           ValueId qkv, ValueId offsets) {
  std::vector<ValueId> inputs{qkv, cache.keys, cache.values, slots_, offsets, past_};
  if (sources_ != no_value) inputs.push_back(sources_);
  return add(name, std::make_shared<AppendCache>(attributes), inputs);
}

ValueId TextBlocks::last_tokens(ValueId x, std::int64_t rows) {
  const ValueId places = graph_.add_input(tensor_names::last_tokens, {DType::i32, Shape{rows + 1}});
  return add("last_token", std::make_shared<GatherToken>(), {x, places});
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

ModelVariable TextBlocks::ones(const std::string& name, std::int64_t size) const {
  return without_prefix(make_variable(name, Shape{size}, constant_start(1)));
}

ValueId TextBlocks::dense(const std::string& name, ValueId x, std::int64_t outputs, DenseBias bias) {
  ModelVariable weight = matrix(name + ".weight", outputs, channels(x));
  if (bias == DenseBias::yes) return linear(name, x, std::move(weight), zeros(name + ".bias", outputs));
  return add(name, std::make_shared<Linear>(), {x, parameter(std::move(weight))});
}

ModelVariable TextBlocks::joined(ModelVariable variable, const std::string& prefix, const std::vector<DensePart>& parts,
                                 const char* kind) const {
  variable.files.clear();
  std::int64_t begin = 0;
  for (const DensePart& part : parts) {
    std::vector<std::int64_t> dims = variable.shape.dims();
    dims[0] = part.outputs;
    variable.files.push_back({.variable = variable.name,
                              .external = prefix + "." + part.name + kind,
                              .external_shape = Shape(dims),
                              .row_begin = begin});
    begin += part.outputs;
  }
  return without_prefix(std::move(variable));
}

ValueId TextBlocks::joined_dense(const std::string& prefix, const std::string& joined_name,
                                 const std::vector<DensePart>& parts, ValueId x, DenseBias bias) {
  const std::string name = prefix + "." + joined_name;
  std::int64_t outputs = 0;
  for (const DensePart& part : parts) outputs += part.outputs;
  ModelVariable weight = joined(matrix(name + ".weight", outputs, channels(x)), prefix, parts, ".weight");
  if (bias == DenseBias::yes) {
    return linear(name, x, std::move(weight), joined(zeros(name + ".bias", outputs), prefix, parts, ".bias"));
  }
  return add(name, std::make_shared<Linear>(), {x, parameter(std::move(weight))});
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

std::vector<ValueId> TextBlocks::with_positions(std::vector<ValueId> inputs) const {
  inputs = with_offsets(std::move(inputs));
  if (past_ != no_value) inputs.push_back(past_);
  return inputs;
}

}  // namespace ptrain
