#include "core/ops/text/embedding.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

void require_ids(const TensorDesc& desc, const char* what) {
  require(desc.dtype == DType::i32 && desc.shape.rank() >= 1, "{}: expected i32 [...], got {}", what, desc.to_string());
}

void require_table(const TensorDesc& desc, const char* what) {
  require(desc.dtype == DType::f32 && desc.shape.rank() == 2, "{}: expected f32 [rows,H], got {}", what,
          desc.to_string());
}

/// Checks ids and token types, and the offsets, input `offsets`, that packed ones need.
void check_tokens(std::span<const TensorDesc> inputs, std::size_t offsets) {
  require_count(inputs, offsets, offsets + 1);
  require_ids(inputs[0], "ids");
  require_desc(inputs[1], inputs[0], "token_types");
  const bool packed = inputs.size() > offsets;
  require(inputs[0].shape.rank() == (packed ? 1 : 2), "ids: expected {}, got {}", packed ? "[T] with offsets" : "[B,S]",
          inputs[0].to_string());
  if (packed) require_offsets(inputs[offsets]);
}

constexpr std::size_t offsets_input = 5;
constexpr std::size_t gradient_offsets_input = 3;

/// `ids` with the width of the rows as a new last axis.
Shape looked_up(const Shape& ids, std::int64_t width) {
  std::vector<std::int64_t> dims = ids.dims();
  dims.push_back(width);
  return Shape(std::move(dims));
}

}  // namespace

std::vector<TensorDesc> Embedding::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_ids(inputs[0], "ids");
  require_table(inputs[1], "table");
  return {{inputs[1].dtype, looked_up(inputs[0].shape, inputs[1].shape[1])}};
}

void Embedding::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(1)) return;
  const auto op = std::make_shared<EmbeddingGrad>(builder.desc(builder.input(1)).shape[0]);
  builder.set_input_gradient(1, builder.emit(op, {builder.input(0), dy}).front());
}

std::string EmbeddingGrad::attributes() const { return fmt::format("rows={}", rows_); }

std::vector<TensorDesc> EmbeddingGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_ids(inputs[0], "ids");
  require(inputs[1].dtype == DType::f32, "dy: expected f32, got {}", inputs[1].to_string());
  require(leading_shape(inputs[1].shape) == inputs[0].shape, "dy {} does not fit ids {}", inputs[1].to_string(),
          inputs[0].to_string());
  return {{inputs[1].dtype, Shape{rows_, inputs[1].shape[-1]}}};
}

std::vector<TensorDesc> BertEmbedding::infer(std::span<const TensorDesc> inputs) const {
  check_tokens(inputs, offsets_input);
  const TensorDesc& word = inputs[2];
  require_table(word, "word");
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    require_table(inputs[i], i == 3 ? "position" : "token_type");
    require(inputs[i].shape[1] == word.shape[1], "table {} does not fit {}", inputs[i].to_string(), word.to_string());
  }
  const bool packed = inputs.size() > offsets_input;  // then the model knows the longest sequence
  require(packed || inputs[3].shape[0] >= inputs[0].shape[1], "{} positions for sequences of {}", inputs[3].shape[0],
          inputs[0].shape[-1]);
  return {{word.dtype, looked_up(inputs[0].shape, word.shape[1])}};
}

void BertEmbedding::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  const auto rows = [&](int input) { return builder.desc(builder.input(input)).shape[0]; };
  const auto op = std::make_shared<BertEmbeddingGrad>(BertTableRows{rows(2), rows(3), rows(4)});
  std::vector<ValueId> inputs{builder.input(0), builder.input(1), dy};
  const bool packed = builder.desc(builder.input(0)).shape.rank() == 1;
  if (packed) inputs.push_back(builder.input(offsets_input));
  const std::vector<ValueId> gradients = builder.emit(op, std::move(inputs));
  for (int i = 2; i < 5; ++i) {
    if (builder.needs_gradient(i)) builder.set_input_gradient(i, gradients[static_cast<std::size_t>(i - 2)]);
  }
}

std::string BertEmbeddingGrad::attributes() const {
  return fmt::format("words={} positions={} token_types={}", rows_.words, rows_.positions, rows_.token_types);
}

std::vector<TensorDesc> BertEmbeddingGrad::infer(std::span<const TensorDesc> inputs) const {
  check_tokens(inputs, gradient_offsets_input);
  const TensorDesc& dy = inputs[2];
  require(dy.dtype == DType::f32, "dy: expected f32, got {}", dy.to_string());
  require(leading_shape(dy.shape) == inputs[0].shape, "dy {} does not fit ids {}", dy.to_string(),
          inputs[0].to_string());
  const std::int64_t width = dy.shape[-1];
  return {{dy.dtype, Shape{rows_.words, width}},
          {dy.dtype, Shape{rows_.positions, width}},
          {dy.dtype, Shape{rows_.token_types, width}}};
}

}  // namespace ptrain
