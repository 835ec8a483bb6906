// Reads texts token by token with a language model that keeps their keys and values.
#pragma once

#include "core/runtime/deployed_model.h"

namespace ptrain {

/// New tokens of a text, and the slot of the cache that has those before.
struct NewTokens {
  std::int64_t slot = 0;
  std::span<const std::int32_t> ids;
};

class TextDecoder {
 public:
  /// As DeployedModel; options.cache is set, and there are options.batch_size slots.
  TextDecoder(Backend& backend, const Model& model, const Task& task, const TrainedWeights& weights,
              const DeployOptions& options);

  /// Appends each text's tokens, at least one, and returns the scores [N, vocabulary] of the token after them. Texts
  /// are all new (prefill), or some have tokens already; slots differ, and texts stay within the cache's length.
  Batch append(std::span<const NewTokens> texts);
  /// Empties a slot for another text.
  void clear(std::int64_t slot) { lengths_.at(static_cast<std::size_t>(slot)) = 0; }
  /// Tokens of a slot's text.
  std::int64_t length(std::int64_t slot) const { return lengths_.at(static_cast<std::size_t>(slot)); }

  std::int64_t slots() const { return static_cast<std::int64_t>(lengths_.size()); }
  DeployedModel& model() { return model_; }

 private:
  DeployedModel model_;
  std::int64_t max_length_;
  std::vector<std::int32_t> lengths_;  // by slot
};

}  // namespace ptrain
