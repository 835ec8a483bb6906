// Table lookup, the sum of BERT's three lookups, and their dense, deterministic gradients.
// All of it is f32 at every AMP level. Ids are trusted to be in range: they are checked where data is read.
#pragma once

#include "core/ops/sparse/sparse_gradient.h"

namespace ptrain {

/// inputs: ids i32 [...]; table [V, H].  outputs: y [..., H]; zeros for id -1, which has no gradient.
class Embedding final : public Op {
 public:
  enum Input { ids, table };
  explicit Embedding(TableGradient gradient = TableGradient::dense) : gradient_(gradient) {}
  TableGradient table_gradient() const { return gradient_; }

  std::string_view type() const override { return "embedding"; }
  std::string attributes() const override { return gradient_ == TableGradient::sparse ? "sparse" : ""; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override {
    return {0, look_up_traffic(inputs[ids], inputs[table], outputs[0])};
  }

 private:
  TableGradient gradient_;
};

/// inputs: ids i32 [...], -1: none; dy [..., H], or for ids [..., K] one row for each K of them.
/// outputs: dtable [rows, H].
class EmbeddingGrad final : public Op {
 public:
  enum Input { ids, dy };
  explicit EmbeddingGrad(std::int64_t rows) : rows_(rows) {}
  std::int64_t rows() const { return rows_; }

  std::string_view type() const override { return "embedding_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }

 private:
  std::int64_t rows_;
};

/// inputs:  ids i32 [B, S], or packed [T]; token_types i32 like ids; word [V, H]; position [P, H], P >= first_position
/// + S;
///          token_type [K, H]; offsets i32 [B+1] of packed sequences: see require_offsets; past i32 [B], see
///          require_past (optional, without a gradient).
/// outputs: y [B, S, H] or [T, H] = word[ids] + position[first_position + past + 0..S-1 in each sequence] +
/// token_type[token_types]; 0 after the last packed sequence.
class BertEmbedding final : public Op {
 public:
  enum Input { ids, token_types, word, position, token_type, offsets, past };
  /// `first_position`: the row of a sequence's first token.
  explicit BertEmbedding(std::int64_t first_position = 0) : first_position_(first_position) {}
  std::int64_t first_position() const { return first_position_; }

  std::string_view type() const override { return "bert_embedding"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }

 private:
  std::int64_t first_position_;
};

/// The rows of BERT's three tables.
struct BertTableRows {
  std::int64_t words = 0;
  std::int64_t positions = 0;
  std::int64_t token_types = 0;
  std::int64_t first_position = 0;
};

/// inputs:  ids and token_types as in BertEmbedding; dy [B, S, H] or [T, H]; offsets (packed).
/// outputs: dword [V, H]; dposition [P, H]; dtoken_type [K, H].
class BertEmbeddingGrad final : public Op {
 public:
  enum Input { ids, token_types, dy, offsets };
  explicit BertEmbeddingGrad(BertTableRows rows) : rows_(rows) {}
  const BertTableRows& rows() const { return rows_; }

  std::string_view type() const override { return "bert_embedding_grad"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }

 private:
  BertTableRows rows_;
};

}  // namespace ptrain
