// Blocks that text classifiers share. Texts are [N,S,H], or [T,H] where a batch's sequences lie one behind the other;
// variables bear transformers' names.
#pragma once

#include "core/base/enums.h"
#include "models/blocks.h"

namespace ptrain {

/// The tokens that a batch of packed sequences has room for, which may hold `most`: eight capacities to each doubling,
/// so that less than an eighth of one is empty but for the smallest.
std::int64_t capacity_for(std::int64_t tokens, std::int64_t most);
/// Of a batch of sequences of up to `max_length` tokens that is packed.
Bucket packed_bucket(const Bucket& batch, std::int64_t max_length);

/// Token types that texts may have: a table of fewer gets rows that no file has.
inline constexpr std::int64_t token_types_of_texts = 2;

class TextBlocks : public Blocks {
 public:
  /// `dropout` in training. `file_prefix`: what names of variables begin with, and files may leave out.
  TextBlocks(Mode mode, Padding padding, float dropout, std::string file_prefix)
      : Blocks(mode, dropout), packed_(padding == Padding::none), file_prefix_(std::move(file_prefix)) {}

 protected:
  struct Tokens {
    ValueId ids, types;
  };
  /// The inputs of a batch of sequences of `max_length` tokens, or of packed ones (where the batch says no capacity,
  /// for the most tokens), and the one that dropout draws by.
  Tokens inputs(const Bucket& batch, std::int64_t max_length);

  /// A matrix [rows, columns] to look up or multiply with; starts from N(0, 0.02), as Devlin et al. 2019.
  ModelVariable matrix(const std::string& name, std::int64_t rows, std::int64_t columns) const;
  ModelVariable zeros(const std::string& name, std::int64_t size) const;
  ValueId dense(const std::string& name, ValueId x, std::int64_t outputs);
  /// Dense layers of one width read `x`: one product here ("prefix.joined"), one layer each in files ("prefix.part").
  ValueId joined_dense(const std::string& prefix, const std::string& joined, const std::vector<std::string>& parts,
                       ValueId x, std::int64_t outputs_each);
  ValueId layer_norm(const std::string& name, ValueId x, float epsilon);
  /// `x` dropped out, added to `residual` and normalised by `norm`.
  ValueId residual_norm(const std::string& name, const std::string& norm, ValueId x, ValueId residual, float epsilon);

  /// The inputs of an op that knows sequences: packed ones have offsets behind the others.
  std::vector<ValueId> with_offsets(std::vector<ValueId> inputs) const;

  bool packed_;
  ValueId lengths_ = no_value;

 private:
  /// Adds to every tensor's names those without the prefix.
  ModelVariable without_prefix(ModelVariable variable) const;

  std::string file_prefix_;
  ValueId offsets_ = no_value;
};

}  // namespace ptrain
