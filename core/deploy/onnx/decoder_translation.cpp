// Translates ops of decoders, which continue texts: packed tokens [T, ...] are [N, S, ...] in ONNX, with N and S
// dynamic, and a cache [N, key heads, tokens, D] has as many tokens as were read.
#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/deploy/onnx/node_translator.h"
#include "core/ops/normalization/rms_norm.h"
#include "core/ops/text/cached_attention.h"
#include "core/ops/text/embedding.h"
#include "core/ops/text/rotary_embedding.h"

#include <cmath>
#include <limits>

namespace ptrain {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

std::string add_whole(OnnxGraph& to, const std::string& name, std::int64_t value) {
  return to.constant(name, {}, std::span(&value, 1));
}

/// The columns of a tensor [N,S].
std::string count_tokens(OnnxGraph& to, const std::string& name, const char* tensor) {
  const std::string extent = to.add(name, "Shape", {tensor}, {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
  return to.add(name + ".count", "Squeeze", {extent});
}

/// The whole numbers from `first` up to `end`, without it.
std::string add_range(OnnxGraph& to, const std::string& name, const std::string& first, const std::string& end) {
  return to.add(name, "Range", {first, end, add_whole(to, name + ".step", 1)});
}

}  // namespace

void add_causal_offsets(OnnxGraph& to) {
  const auto cast = [&](const char* what, const std::string& from, OnnxType type) {
    return to.add(what, "Cast", {from}, {{"to", static_cast<std::int64_t>(type)}});
  };
  const auto integers = [&](const Ints& values) {
    return to.constant("causal.integers", {static_cast<std::int64_t>(values.size())}, values);
  };
  const std::string keys = count_tokens(to, "causal.keys", onnx_io::attention_mask);
  const std::string past = to.add("causal.past", "Sub", {keys, count_tokens(to, "causal.queries", tensor_names::ids)});
  const std::string positions = add_range(to, "causal.positions", add_whole(to, "causal.first", 0), keys);
  const std::string queries = add_range(to, "causal.query_positions", past, keys);
  const std::string rows = to.add("causal.rows", "Unsqueeze", {queries, integers({1})});
  const std::string seen = to.add("causal.seen", "LessOrEqual", {positions, rows});  // [S, P + S]
  const std::string tokens = cast("causal.tokens", onnx_io::attention_mask, OnnxType::boolean);
  const std::string known = to.add("causal.known", "Unsqueeze", {tokens, integers({1})});
  const std::string both = to.add("causal.both", "And", {seen, known});  // [N, S, P + S]
  const std::string hidden = cast("causal.hidden", to.add("causal.not", "Not", {both}), OnnxType::f32);
  const std::string offsets = to.add("causal.offsets", "Mul", {hidden, to.scalar("causal.low", -1e9f)});
  to.add(onnx_io::causal_offsets, "Unsqueeze", {offsets, integers({1, 2})});
}

void add_source_offsets(OnnxGraph& to) {
  const std::string offsets = add_padding_offsets(to, "source", onnx_io::source_mask, {1, 2, 3});
  to.add(onnx_io::source_offsets, "Identity", {offsets});
}

void add_first_positions(OnnxGraph& to) {
  const std::string zero = add_whole(to, "positions.first", 0);
  const std::string range =
      add_range(to, "positions.range", zero, count_tokens(to, "positions.count", tensor_names::ids));
  to.add(onnx_io::position_ids, "Unsqueeze", {range, to.constant("positions.axes", {1}, Ints{0})});
}

void translate_table_lookup(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  n.set_output(n.add("", "Gather", {n.input(Embedding::table), n.input(Embedding::ids)}, {{"axis", std::int64_t{0}}}));
}

void translate_rotary_table(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  constexpr auto f32 = static_cast<std::int64_t>(OnnxType::f32);
  const RotaryAttributes& attrs = get_op<RotaryTable>(node).attrs();
  const std::string positions = n.add(".positions", "Cast", {onnx_io::position_ids}, {{"to", f32}});
  const std::string frequencies =
      t.to().constant(node.name + ".frequencies", {attrs.depth / 2}, rotary_frequencies(attrs));
  const std::string angles = n.add(".angles", "Mul", {n.unsqueeze(".columns", positions, 2), frequencies});
  OnnxGraph::Names halves{n.add(".cosines", "Cos", {angles}), n.add(".sines", "Sin", {angles})};
  if (attrs.sines_first) std::swap(halves[0], halves[1]);
  n.set_output(n.concat("", halves, -1));
}

void translate_rotary_embedding(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const std::int64_t rotated = get_op<RotaryEmbedding>(node).attrs().heads;
  const std::int64_t width = n.input_shape(RotaryEmbedding::x)[-1], depth = n.input_shape(RotaryEmbedding::table)[-1];
  const std::string heads = n.reshape(".heads", n.input(RotaryEmbedding::x), {0, 0, width / depth, depth});
  const std::string table = n.unsqueeze(".table", n.input(RotaryEmbedding::table), 2);  // [N, S, 1, D]
  const std::string cosines = n.slice(".cosines", table, -1, 0, depth / 2);
  const std::string sines = n.slice(".sines", table, -1, depth / 2, depth);
  const std::string turning = n.slice(".rotated", heads, 2, 0, rotated);
  const std::string first = n.slice(".first", turning, -1, 0, depth / 2);
  const std::string second = n.slice(".second", turning, -1, depth / 2, depth);
  const auto product = [&](const std::string& a, const std::string& b) { return n.add(".product", "Mul", {a, b}); };
  const std::string turned = n.concat(".turned",
                                      {n.add(".low", "Sub", {product(first, cosines), product(second, sines)}),
                                       n.add(".high", "Add", {product(second, cosines), product(first, sines)})},
                                      -1);
  const std::string rest = n.slice(".rest", heads, 2, rotated, to_the_end);
  n.set_output(n.reshape("", n.concat(".all", {turned, rest}, 2), {0, 0, width}));
}

/// Of each group of the last axis by itself.
void translate_rms_norm(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const std::int64_t width = n.input_shape(RmsNorm::x)[-1], group = n.input_shape(RmsNorm::gamma)[0];
  std::string x = n.input(RmsNorm::x);
  if (width != group) x = n.reshape(".groups", x, {0, 0, width / group, group});
  const std::string squares = n.add(".squares", "Mul", {x, x});
  const std::string means = n.add(".means", "ReduceMean", {squares}, {{"axes", Ints{-1}}});
  const std::string sums = n.add(".sums", "Add", {means, n.number(get_op<RmsNorm>(node).epsilon())});
  const std::string normal = n.add(".normal", "Div", {x, n.add(".roots", "Sqrt", {sums})});
  const std::string scaled = n.add(".scaled", "Mul", {normal, n.input(RmsNorm::gamma)});
  n.set_output(width == group ? scaled : n.reshape("", scaled, {0, 0, width}));
}

void translate_swiglu(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const std::int64_t width = n.input_shape(0)[-1] / 2;
  const std::string gate = n.slice(".gate", n.input(0), -1, 0, width);
  const std::string up = n.slice(".up", n.input(0), -1, width, 2 * width);
  n.set_output(n.add("", "Mul", {translate_activation(Activation::silu, gate, t), up}));
}

/// The cache's name becomes that of the cache with the new tokens' keys or values after those of the past, if there are
/// any. Whose past a text continues is a matter of the rows that the caller gives.
void translate_append_cache(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const CacheDims dims(get_op<AppendCache>(node).attrs(), t.from().input_descs(node));
  const std::int64_t heads = dims.width / dims.depth, first = dims.first_key() / dims.depth;
  const std::string split = n.reshape(".heads", n.input(AppendCache::qkv), {0, 0, heads, dims.depth});
  for (const AppendCache::Input cache : {AppendCache::keys, AppendCache::values}) {
    const std::int64_t begin = first + (cache == AppendCache::values ? dims.kv_heads : 0);
    const std::string more =
        n.transpose(".more", n.slice(".new", split, 2, begin, begin + dims.kv_heads), {0, 2, 1, 3});
    const ValueId value = node.inputs[cache];
    t.name(value, t.has_name(value) ? n.concat(".present", {n.input(cache), more}, 2) : more);
  }
  n.set_output(n.input(AppendCache::qkv));
}

/// [N, key heads, queries of each, S, D] by [N, key heads, 1, D, P + S].
void translate_cached_attention(const Node& node, Translation& t) {
  NodeTranslator n(node, t);
  const CacheDims dims(get_op<CachedAttention>(node).attrs(), t.from().input_descs(node));
  const std::int64_t heads = dims.width / dims.depth;
  const std::string split = n.reshape(".heads", n.input(AppendCache::qkv), {0, 0, heads, dims.depth});
  const std::string queries = n.transpose(".queries", n.slice(".query", split, 2, 0, dims.heads), {0, 2, 1, 3});
  const std::string grouped = n.reshape(".groups", queries, {0, dims.kv_heads, dims.group(), -1, dims.depth});
  const std::string keys = n.unsqueeze(".keys", n.transpose(".columns", n.input(AppendCache::keys), {0, 1, 3, 2}), 2);
  const std::string scores =
      n.add(".scores", "Mul",
            {n.add(".products", "MatMul", {grouped, keys}), n.number(1 / std::sqrt(static_cast<float>(dims.depth)))});
  const bool reads_source = dims.width == dims.out_width();  // there are queries alone
  const std::string seen =
      n.add(".seen", "Add", {scores, reads_source ? onnx_io::source_offsets : onnx_io::causal_offsets});
  const std::string weights = n.add(".weights", "Softmax", {seen}, {{"axis", std::int64_t{-1}}});
  const std::string sums = n.add(".sums", "MatMul", {weights, n.unsqueeze(".values", n.input(AppendCache::values), 2)});
  const std::string rows = n.transpose(".rows", sums, {0, 3, 1, 2, 4});  // [N, S, key heads, queries of each, D]
  n.set_output(n.reshape("", rows, {0, 0, dims.out_width()}));
}

}  // namespace ptrain
