// Blocks shared by text models. Texts are [N,S,H], or [T,H] where a batch's sequences are packed; variables have
// transformers' names.
#pragma once

#include "core/base/enums.h"
#include "core/data/tensor_names.h"
#include "core/ops/text/attention.h"
#include "core/ops/text/cached_attention.h"
#include "models/blocks.h"

namespace ptrain {

/// The token capacity of a graph for a batch of packed sequences, at most `most`: eight capacities per doubling, so
/// that less than an eighth is padding except in the smallest.
std::int64_t capacity_for(std::int64_t tokens, std::int64_t most);
/// The extents for a packed batch of sequences of up to `max_length` tokens; in decoding, where most have one, no
/// tokens are padding.
Bucket packed_bucket(const Bucket& batch, std::int64_t max_length, Mode mode);

/// Minimum number of token types: smaller tables get extra rows that files lack.
inline constexpr std::int64_t token_types_of_texts = 2;

/// Whether a model reads token types, and whether a dense layer has a bias.
enum class TokenTypes { none, read };
enum class DenseBias { none, yes };

/// A layer that is part of a joined product.
struct DensePart {
  std::string name;
  std::int64_t outputs;
};

class TextBlocks : public Blocks {
 public:
  /// `dropout` in training. `file_prefix`: prefix of variables' names that files may leave out.
  TextBlocks(Mode mode, Padding padding, float dropout, std::string file_prefix)
      : Blocks(mode, dropout), packed_(padding == Padding::none), file_prefix_(std::move(file_prefix)) {}

 protected:
  struct Tokens {
    ValueId ids, types;  // types: no_value where the model reads none
  };
  /// The inputs for a batch of sequences of `max_length` tokens, or of packed ones (with the largest capacity unless
  /// the batch has one), and dropout's random state.
  Tokens inputs(const Bucket& batch, std::int64_t max_length, TokenTypes token_types = TokenTypes::read);
  /// Sets the packed sequences that attend(), with_offsets() and with_positions() read; those of inputs() at first.
  void read_sequences(ValueId lengths, ValueId offsets) { lengths_ = lengths, offsets_ = offsets; }
  ValueId offsets() const { return offsets_; }
  /// Adds an input of the slots whose past texts continue in their own (AppendCache's sources).
  void read_cache_sources(std::int64_t rows) {
    sources_ = graph_.add_input(tensor_names::cache_sources, {DType::i32, Shape{rows}});
  }
  /// The state that a layer keeps for all slots.
  struct LayerCache {
    ValueId keys, values;
  };
  LayerCache add_cache(const std::string& name, std::int64_t kv_heads, std::int64_t depth);
  /// Appends the keys and values of tokens in sequences at `offsets`; returns `qkv`.
  ValueId append(const std::string& name, const CacheAttributes& attributes, const LayerCache& cache, ValueId qkv,
                 ValueId offsets);
  /// Attention of a layer, from its queries, keys and values. With a cache these are appended to it, and in decoding it
  /// is what is attended to.
  ValueId attend(const std::string& name, AttentionAttributes attributes, ValueId qkv);
  /// The hidden states of each packed sequence's last token, from which the token after it is predicted.
  ValueId last_tokens(ValueId x, std::int64_t rows);

  /// A matrix [rows, columns] for lookups or products, initialised from N(0, 0.02) as in Devlin et al. 2019.
  ModelVariable matrix(const std::string& name, std::int64_t rows, std::int64_t columns) const;
  ModelVariable zeros(const std::string& name, std::int64_t size) const;
  ModelVariable ones(const std::string& name, std::int64_t size) const;
  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs, DenseBias bias = DenseBias::yes);
  /// Dense layers that read `x`: one product here ("prefix.joined"), one layer each in files ("prefix.part").
  ValueId joined_dense(const std::string& prefix, const std::string& joined, const std::vector<DensePart>& parts,
                       ValueId x, DenseBias bias = DenseBias::yes);
  ValueId layer_norm(const std::string& name, ValueId x, float epsilon);
  /// norm(dropout(x) + residual).
  ValueId residual_norm(const std::string& name, const std::string& norm, ValueId x, ValueId residual, float epsilon);

  /// The inputs of an op over sequences: for packed ones the offsets come last.
  std::vector<ValueId> with_offsets(std::vector<ValueId> inputs) const;
  /// The inputs of an op over positions: after the offsets, with a cache, the tokens read before.
  std::vector<ValueId> with_positions(std::vector<ValueId> inputs) const;

  bool packed_;
  ValueId lengths_ = no_value;

 private:
  /// Adds to every tensor's names those without the prefix.
  ModelVariable without_prefix(ModelVariable variable) const;
  /// A variable whose rows are those of `parts`, each a tensor of its own in files.
  ModelVariable joined(ModelVariable variable, const std::string& prefix, const std::vector<DensePart>& parts,
                       const char* kind) const;

  std::string file_prefix_;
  Bucket extents_{0};
  std::int64_t max_length_ = 0;  // of a sequence
  ValueId offsets_ = no_value, slots_ = no_value, past_ = no_value, sources_ = no_value;
};

}  // namespace ptrain
