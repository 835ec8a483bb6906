#include "core/data/text/tokenizer.h"

#include "core/base/errors.h"

#include <algorithm>
#include <utility>

namespace ptrain {
namespace {

/// How many tokens of each sentence fit into `budget`: the longer one is truncated first.
std::pair<std::size_t, std::size_t> share(std::size_t a, std::size_t b, std::size_t budget) {
  if (a + b <= budget) return {a, b};
  const std::size_t shorter = std::min(a, b);
  std::size_t kept_short = shorter;
  std::size_t kept_long = shorter > budget ? shorter : std::max(shorter, budget - shorter);
  if (kept_short + kept_long > budget) {
    kept_short = budget / 2;
    kept_long = budget - kept_short;
  }
  return a > b ? std::pair{kept_long, kept_short} : std::pair{kept_short, kept_long};
}

}  // namespace

std::int32_t Tokenizer::encode_pair(std::span<const std::int32_t> a, std::span<const std::int32_t> b, bool has_second,
                                    std::span<std::int32_t> ids, std::span<std::int32_t> token_types) const {
  const std::size_t around = has_second ? 2 + special_tokens_.between : 2;
  invariant(ids.size() >= 5 && token_types.size() == ids.size(), "encode_pair needs room for five tokens");
  const auto [keep_a, keep_b] = share(a.size(), has_second ? b.size() : 0, ids.size() - around);
  std::fill(token_types.begin(), token_types.end(), 0);
  std::size_t at = 0;
  const auto write = [&](std::span<const std::int32_t> tokens) {
    std::copy(tokens.begin(), tokens.end(), ids.begin() + static_cast<std::ptrdiff_t>(at));
    at += tokens.size();
  };
  ids[at++] = special_tokens_.first;
  write(a.first(keep_a));
  ids[at++] = special_tokens_.separator;
  if (has_second) {
    for (std::size_t i = 1; i < special_tokens_.between; ++i) ids[at++] = special_tokens_.separator;
    const std::size_t second = at;
    write(b.first(keep_b));
    ids[at++] = special_tokens_.separator;
    std::fill(token_types.begin() + static_cast<std::ptrdiff_t>(second),
              token_types.begin() + static_cast<std::ptrdiff_t>(at), special_tokens_.second_type);
  }
  std::fill(ids.begin() + static_cast<std::ptrdiff_t>(at), ids.end(), special_tokens_.pad);
  return static_cast<std::int32_t>(at);
}

std::string Tokenizer::decode(std::span<const std::int32_t>) const {
  fail("this vocabulary keeps neither case nor spaces and cannot decode tokens; a byte-level BPE can");
}

}  // namespace ptrain
