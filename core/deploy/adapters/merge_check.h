// A model with adapters against the same one with them merged into its weights, on text.
#pragma once

#include "core/runtime/deployed_model.h"
#include "core/runtime/loaded_model.h"

#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// The tokens before a place in a text, and the one that follows there.
struct TokenWindow {
  std::vector<std::int32_t> context;
  std::int32_t next = 0;
};

/// At most `count` windows of at most the model's length, evenly spaced over the text. Throws Error{failed} naming the
/// file where it has fewer than two tokens, and as open_tokenizer does.
std::vector<TokenWindow> read_windows(const ModelArtifact& trained, const std::string& file, std::int64_t count);
/// Windows of tokens drawn at random, for models without a vocabulary or where no text is given.
std::vector<TokenWindow> draw_windows(const ModelArtifact& trained, std::int64_t count);

struct MergeCheck {
  std::int64_t windows = 0;
  double relative = 0, largest = 0;                    // error of logits
  double agreement = 1;                                // fraction of windows with the same most likely token
  double perplexity_before = 0, perplexity_after = 0;  // of the tokens that follow
};

/// Throws Error{failed} where a logit is not finite.
MergeCheck compare_merged(Backend& backend, const LoadedModel& adapted, const LoadedModel& merged,
                          const std::vector<TokenWindow>& windows);

}  // namespace ptrain
