// Rotary position embedding (Su et al., "RoFormer", 2021): the angles of a batch's tokens, and the rotation of its
// query and key heads by them. Channels i and i + D/2 of a head are a pair, as in transformers' weights.
#pragma once

#include "core/graph/op.h"

#include <cstdint>

namespace ptrain {

/// How frequencies change for sequences longer than those of pre-training.
struct RotaryScaling {
  enum class Kind { none, linear, llama3 };
  Kind kind = Kind::none;
  double factor = 1;                 // by which slow frequencies are divided (linear: all)
  double low_frequency_factor = 1;   // llama3: wavelengths above original_length / this are slow
  double high_frequency_factor = 4;  // llama3: wavelengths below original_length / this stay as they are
  std::int64_t original_length = 8192;
};

struct RotaryAttributes {
  std::int64_t depth = 64;  // D, channels of a head; even
  double theta = 10000;
  RotaryScaling scaling = {};
  bool sines_first = false;  // in the table, which are then the position encodings of Vaswani et al. 2017
};

/// The D/2 frequencies in radians per token, theta^(-2i/D), scaled; those between llama3's wavelengths are blended (as
/// transformers defines it). Angles are products of these floats with the position, in f32.
std::vector<float> rotary_frequencies(const RotaryAttributes& attributes);

/// inputs:  ids i32 [B, S], or packed [T], of which only the shape counts; offsets i32 [B+1] of packed sequences: see
///          require_offsets; past i32 [B], see require_past (optional).
/// outputs: table f32 [S, D] or [T, D]: each token's cosines of its D/2 angles and then their sines, or the
///          sines first. Positions begin at
///          `past`, or 0, in every sequence; tokens after the last packed one have position 0.
class RotaryTable final : public OpWith<RotaryAttributes> {
 public:
  enum Input { ids, offsets, past };
  explicit RotaryTable(RotaryAttributes attributes);

  std::string_view type() const override { return "rotary_table"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct RotaryEmbeddingAttributes {
  std::int64_t heads = 1;  // that are rotated, the first of each token
  bool inverse = false;    // rotates backward, as the gradient does
};

/// inputs:  x [B, S, W], or packed [T, W]: heads of D channels, W >= heads*D; table as RotaryTable gives it.
/// outputs: y like x: in the first heads (x_i, x_{i+D/2}) is rotated by the token's angle i; the rest is copied.
class RotaryEmbedding final : public OpWith<RotaryEmbeddingAttributes> {
 public:
  enum Input { x, table };
  using OpWith::OpWith;

  std::string_view type() const override { return "rotary_embedding"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool amp_casts_input(int input) const override { return input == x; }
  int inplace_input(int) const override { return x; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain
