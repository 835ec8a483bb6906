// Translates texts with an encoder and a decoder: the encoder runs once, and its keys and values are kept beside those
// of the translations so far.
#pragma once

#include "core/runtime/decoding/beam_search.h"
#include "core/runtime/deployed_model.h"

#include <map>

namespace ptrain {

class Translator {
 public:
  using Ids = std::vector<std::int32_t>;

  /// As DeployedModel, with the weights of a file or of `trained`. options.batch_size texts are translated at once, and
  /// options.max_length is the longest source, and translation if search.max_tokens is 0; options.cache is set.
  Translator(Backend& backend, const Model& model, const Task& task, const TrainedWeights& weights,
             DeployOptions options, SearchOptions search, std::int32_t end_token);
  Translator(Backend& backend, const Model& model, const Task& task, const Variables& trained, DeployOptions options,
             SearchOptions search, std::int32_t end_token);

  /// As estimate_deployed_memory, for a Translator of those options.
  static std::int64_t estimate_memory(const Model& model, const Task& task, DeployOptions options, SearchOptions search,
                                      const KernelLibrary& kernels);

  /// The translations of at most batch_size() sources, each of which ends in the end token; theirs are without it. That
  /// of an empty source is empty.
  std::vector<Ids> translate(std::span<const Ids> sources);
  std::int64_t batch_size() const { return model_.batch_size(); }

 private:
  struct Text;

  std::vector<Ids> search_for(std::span<const Ids> sources);
  /// Few numbers of rows, since each has its plans.
  std::size_t round_rows(std::size_t rows, Mode mode) const;
  void prefill(std::vector<Text>& texts, std::span<const Ids> sources);
  void decode(std::vector<Text>& texts, std::span<const Ids> sources);
  /// The scores, until the next run of as many rows.
  const Batch& run(const Batch& batch, Mode mode);
  /// Continues the unfinished texts by the scores of their beams, which follow each other.
  void step(std::vector<Text>& texts, const Batch& scores) const;

  SearchOptions search_;
  std::int32_t end_token_;
  DeployedModel model_;
  std::map<std::int64_t, Batch> scores_;  // of the last step, by its rows
};

}  // namespace ptrain
