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

/// Checks ids, token types and, for packed sequences, the offsets in input `offsets`.
void check_tokens(std::span<const TensorDesc> inputs, std::size_t offsets) {
  const TensorDesc& ids = inputs[BertEmbedding::ids];
  require_ids(ids, "ids");
  require_desc(inputs[BertEmbedding::token_types], ids, "token_types");
  const bool packed = inputs.size() > offsets;
  require(ids.shape.rank() == (packed ? 1 : 2), "ids: expected {}, got {}", packed ? "[T] with offsets" : "[B,S]",
          ids.to_string());
  if (packed) require_offsets(inputs[offsets]);
}

/// `ids` with the width of the rows as a new last axis.
Shape infer_lookup_shape(const Shape& ids, std::int64_t width) {
  std::vector<std::int64_t> dims = ids.dims();
  dims.push_back(width);
  return Shape(std::move(dims));
}

}  // namespace

std::vector<TensorDesc> Embedding::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_ids(inputs[ids], "ids");
  require_table(inputs[table], "table");
  return {{inputs[table].dtype, infer_lookup_shape(inputs[ids].shape, inputs[table].shape[1])}};
}

void Embedding::gradient(GradientBuilder& builder) const { set_table_gradient(builder, gradient_, ids, table); }

std::string EmbeddingGrad::attributes() const { return fmt::format("rows={}", rows_); }

std::vector<TensorDesc> EmbeddingGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_ids(inputs[ids], "ids");
  require(inputs[dy].dtype == DType::f32, "dy: expected f32, got {}", inputs[dy].to_string());
  const Shape read = leading_shape(inputs[dy].shape);
  require(read == inputs[ids].shape || read == leading_shape(inputs[ids].shape), "dy {} does not fit ids {}",
          inputs[dy].to_string(), inputs[ids].to_string());
  return {{inputs[dy].dtype, Shape{rows_, inputs[dy].shape[-1]}}};
}

std::string BertEmbedding::attributes() const {
  return first_position_ == 0 ? "" : fmt::format("first_position={}", first_position_);
}

std::vector<TensorDesc> BertEmbedding::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, offsets, past + 1);
  check_tokens(inputs, offsets);
  if (inputs.size() > past) require_past(inputs[past], inputs[offsets]);
  require_table(inputs[word], "word");
  for (const Input i : {position, token_type}) {
    require_table(inputs[i], i == position ? "position" : "token_type");
    require(inputs[i].shape[1] == inputs[word].shape[1], "table {} does not fit {}", inputs[i].to_string(),
            inputs[word].to_string());
  }
  const bool packed = inputs.size() > offsets;  // then the model knows the longest sequence
  require(packed || inputs[position].shape[0] >= first_position_ + inputs[ids].shape[1],
          "{} positions from {} for sequences of {}", inputs[position].shape[0], first_position_,
          inputs[ids].shape[-1]);
  return {{inputs[word].dtype, infer_lookup_shape(inputs[ids].shape, inputs[word].shape[1])}};
}

void BertEmbedding::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value) return;
  const auto rows = [&](int input) { return builder.desc(builder.input(input)).shape[0]; };
  const auto op =
      std::make_shared<BertEmbeddingGrad>(BertTableRows{rows(word), rows(position), rows(token_type), first_position_});
  std::vector<ValueId> inputs{builder.input(ids), builder.input(token_types), dy};
  const bool packed = builder.desc(builder.input(ids)).shape.rank() == 1;
  if (packed) inputs.push_back(builder.input(offsets));
  const std::vector<ValueId> gradients = builder.emit(op, std::move(inputs));
  for (int i = 2; i < 5; ++i) {
    if (builder.needs_gradient(i)) builder.set_input_gradient(i, gradients[static_cast<std::size_t>(i - 2)]);
  }
}

std::string BertEmbeddingGrad::attributes() const {
  const std::string first = rows_.first_position == 0 ? "" : fmt::format(" first_position={}", rows_.first_position);
  return fmt::format("words={} positions={} token_types={}{}", rows_.words, rows_.positions, rows_.token_types, first);
}

std::vector<TensorDesc> BertEmbeddingGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, offsets, offsets + 1);
  check_tokens(inputs, offsets);
  require(inputs[dy].dtype == DType::f32, "dy: expected f32, got {}", inputs[dy].to_string());
  require(leading_shape(inputs[dy].shape) == inputs[ids].shape, "dy {} does not fit ids {}", inputs[dy].to_string(),
          inputs[ids].to_string());
  const std::int64_t width = inputs[dy].shape[-1];
  return {{inputs[dy].dtype, Shape{rows_.words, width}},
          {inputs[dy].dtype, Shape{rows_.positions, width}},
          {inputs[dy].dtype, Shape{rows_.token_types, width}}};
}

}  // namespace ptrain
