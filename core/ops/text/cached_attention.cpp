#include "core/ops/text/cached_attention.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

using Input = AppendCache::Input;

void require_heads(const CacheAttributes& a) {
  invariant(a.kv_heads > 0 && a.heads > 0 && a.heads % a.kv_heads == 0,
            "attention's key heads do not divide its query heads");
}

std::string describe(const CacheAttributes& a) { return fmt::format("heads={} kv_heads={}", a.heads, a.kv_heads); }

/// Channels of a head in a cache.
std::int64_t count_channels(const TensorDesc& cache) {
  return cache.shape[3] - (cache.dtype == DType::s8 ? cache_step_bytes : 0);
}

/// `alone`: heads of a token of qkv that has some of its parts only.
void check_inputs(const CacheAttributes& a, std::span<const TensorDesc> inputs, std::int64_t alone) {
  const TensorDesc &qkv = inputs[Input::qkv], &keys = inputs[Input::keys];
  require_floating(qkv, "qkv");
  if (keys.dtype != DType::s8) require_floating(keys, "keys");
  require(keys.shape.rank() == 4 && keys.shape[1] == a.kv_heads, "keys: expected [slots,{},C,D], got {}", a.kv_heads,
          keys.to_string());
  const std::int64_t depth = count_channels(keys), heads = a.heads + 2 * a.kv_heads;
  require(qkv.shape.rank() == 2 && (qkv.shape[1] == heads * depth || qkv.shape[1] == alone * depth),
          "qkv: expected [T,{}] or [T,{}], got {}", heads * depth, alone * depth, qkv.to_string());
  require_desc(inputs[Input::values], keys, "values");
  require_offsets(inputs[Input::offsets]);
  require_past(inputs[Input::past], inputs[Input::offsets]);
  require_desc(inputs[Input::slots], inputs[Input::past], "slots");
}

}  // namespace

CacheDims::CacheDims(const CacheAttributes& attributes, std::span<const TensorDesc> inputs)
    : tokens(inputs[Input::qkv].shape[0]),
      batch(inputs[Input::slots].shape[0]),
      heads(attributes.heads),
      kv_heads(attributes.kv_heads),
      depth(count_channels(inputs[Input::keys])),
      capacity(inputs[Input::keys].shape[2]),
      width(inputs[Input::qkv].shape[1]),
      stride(inputs[Input::keys].shape[3]) {}

AppendCache::AppendCache(CacheAttributes attributes) : OpWith(attributes) { require_heads(attributes); }

std::string AppendCache::attributes() const { return describe(attributes_); }

std::vector<TensorDesc> AppendCache::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 6, 7);
  check_inputs(attributes_, inputs, 2 * attributes_.kv_heads);
  if (inputs.size() > sources) require_desc(inputs[sources], inputs[slots], "sources");
  return {inputs[qkv]};
}

Cost AppendCache::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc>) const {
  const CacheDims e(attributes_, inputs);
  const auto bytes = [&](Input input, std::int64_t elements) {
    return static_cast<double>(elements) * static_cast<double>(element_size(inputs[input].dtype));
  };
  return {0, static_cast<double>(2 * e.tokens * e.kv_heads) * (bytes(qkv, e.depth) + bytes(keys, e.stride))};
}

CachedAttention::CachedAttention(CacheAttributes attributes) : OpWith(attributes) { require_heads(attributes); }

std::string CachedAttention::attributes() const { return describe(attributes_); }

std::vector<TensorDesc> CachedAttention::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 6, 6);
  check_inputs(attributes_, inputs, attributes_.heads);
  const CacheDims e(attributes_, inputs);
  return {{inputs[Input::qkv].dtype, Shape{e.tokens, e.out_width()}}};
}

Cost CachedAttention::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const CacheDims e(attributes_, inputs);
  const auto tokens = static_cast<double>(e.tokens), capacity = static_cast<double>(e.capacity);
  const double read = static_cast<double>(2 * e.batch * e.kv_heads * e.stride) * capacity;
  return {4 * tokens * static_cast<double>(e.out_width()) * capacity,
          read * static_cast<double>(element_size(inputs[Input::keys].dtype)) + traffic(inputs.first(1), outputs)};
}

void set_cache_dtype(Graph& graph, DType dtype) {
  for (const Node& node : graph.nodes()) {
    if (dynamic_cast<const AppendCache*>(node.op.get()) == nullptr) continue;
    for (const Input i : {Input::keys, Input::values}) {
      TensorDesc& cache = graph.value(node.inputs[i]).desc;
      cache.dtype = dtype;
      if (dtype == DType::s8) cache.shape = with_last(cache.shape, cache.shape[3] + cache_step_bytes);
    }
  }
}

}  // namespace ptrain
