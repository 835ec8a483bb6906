// Translates ops of padded texts; N and S stay dynamic.
#include "core/base/errors.h"
#include "core/deploy/onnx/translation.h"
#include "core/ops/text/attention.h"
#include "core/ops/text/embedding.h"

#include <cmath>

namespace ptrain {
namespace {

using Ints = std::vector<std::int64_t>;

std::string add_integers(const std::string& name, const Ints& values, Translation& t) {
  return t.to().constant(name, {static_cast<std::int64_t>(values.size())}, values);
}

/// The rows of the table of positions for a text from its beginning.
std::string add_first_positions(const Node& node, Translation& t) {
  const std::string shape = t.to().add(node.name + ".shape", "Shape", {t.name(node.inputs[BertEmbedding::ids])},
                                       {{"start", std::int64_t{1}}});
  const std::int64_t first_position = static_cast<const BertEmbedding&>(*node.op).first_position();
  const std::string first = add_integers(node.name + ".first", {first_position}, t);
  const std::string end = first_position == 0 ? shape : t.to().add(node.name + ".end", "Add", {shape, first});
  return t.to().add(
      node.name + ".positions", "Slice",
      {t.name(node.inputs[BertEmbedding::position]), first, end, add_integers(node.name + ".axis", {0}, t)});
}

}  // namespace

std::string add_padding_offsets(OnnxGraph& to, const std::string& name, const char* mask, const Ints& axes) {
  constexpr std::int64_t f32 = static_cast<std::int64_t>(OnnxType::f32);
  const std::string tokens = to.add(name + ".mask", "Cast", {mask}, {{"to", f32}});
  const std::string padding = to.add(name + ".padding", "Sub", {to.scalar(name + ".one", 1), tokens});
  const std::string offsets = to.add(name + ".low_padding", "Mul", {padding, to.scalar(name + ".low", -1e9f)});
  const std::string added = to.constant(name + ".axes", {static_cast<std::int64_t>(axes.size())}, axes);
  return to.add(name + ".offsets", "Unsqueeze", {offsets, added});
}

void translate_embedding(const Node& node, Translation& t) {
  const auto input = [&](int index) -> const std::string& {
    return t.name(node.inputs[static_cast<std::size_t>(index)]);
  };
  const auto look_up = [&](const char* what, int table, int ids) {
    return t.to().add(node.name + what, "Gather", {input(table), input(ids)}, {{"axis", std::int64_t{0}}});
  };
  const std::string words = look_up(".words", BertEmbedding::word, BertEmbedding::ids);
  const std::string types = look_up(".types", BertEmbedding::token_type, BertEmbedding::token_types);
  const std::string positions =
      is_given(node, BertEmbedding::past)
          ? t.to().add(node.name + ".positions", "Gather", {input(BertEmbedding::position), onnx_io::position_ids},
                       {{"axis", std::int64_t{0}}})
          : add_first_positions(node, t);
  const std::string sum = t.to().add(node.name + ".sum", "Add", {words, types});
  t.name(node.outputs[0], t.to().add(node.name, "Add", {sum, positions}));
}

void translate_attention(const Node& node, Translation& t) {
  const AttentionAttributes& attrs = static_cast<const Attention&>(*node.op).attrs();
  if (attrs.causal) fail_usage("{}: causal attention has no translation to ONNX", node.name);
  const std::int64_t heads = attrs.heads, width = t.shape(node.inputs[Attention::qkv])[-1] / 3, depth = width / heads;
  const auto add = [&](const char* what, const char* type, const OnnxGraph::Names& inputs,
                       const std::vector<OnnxAttribute>& attributes = {}) {
    return t.to().add(node.name + what, type, inputs, attributes);
  };
  const std::string split =
      add(".split", "Reshape",
          {t.name(node.inputs[Attention::qkv]), add_integers(node.name + ".parts", {0, 0, 3, heads, depth}, t)});
  const auto part = [&](const char* what, std::int64_t index, const Ints& order) {
    const std::string at = t.to().constant(node.name + what + ".index", {}, std::span(&index, 1));
    const std::string chosen = add(what, "Gather", {split, at}, {{"axis", std::int64_t{2}}});  // [N,S,heads,depth]
    return add(what, "Transpose", {chosen}, {{"perm", order}});
  };
  const std::string q = part(".query", 0, {0, 2, 1, 3}), k = part(".key", 1, {0, 2, 3, 1}),
                    v = part(".value", 2, {0, 2, 1, 3});
  const std::string scale = t.to().scalar(node.name + ".scale", 1.0f / std::sqrt(static_cast<float>(depth)));
  const std::string scores = add(".scores", "Mul", {add(".products", "MatMul", {q, k}), scale});
  const bool padded =
      t.from().value(node.inputs[Attention::lengths]).storage == Storage::input;  // not for image patches
  const std::string masked =
      padded ? add(".masked", "Add", {scores, add_padding_offsets(t.to(), node.name, onnx_io::attention_mask, {1, 2})})
             : scores;
  const std::string weights = add(".weights", "Softmax", {masked}, {{"axis", std::int64_t{-1}}});
  const std::string rows =
      add(".rows", "Transpose", {add(".sums", "MatMul", {weights, v})}, {{"perm", Ints{0, 2, 1, 3}}});
  t.name(node.outputs[0], add("", "Reshape", {rows, add_integers(node.name + ".width", {0, 0, width}, t)}));
}

}  // namespace ptrain
