#include "core/data/text/bpe_merges.h"

#include <cstddef>
#include <queue>
#include <utility>

namespace ptrain {
namespace {

std::uint64_t pack_pair(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

/// Two adjacent tokens in a word that can be merged: the lowest rank first, then the leftmost.
struct Candidate {
  std::int32_t rank;
  std::size_t at;  // index of the left one
  std::int32_t left, right;

  bool operator<(const Candidate& other) const { return std::pair(rank, at) > std::pair(other.rank, other.at); }
};

}  // namespace

void BpeMerges::add(std::int32_t left, std::int32_t right, std::int32_t joined) {
  merges_.insert_or_assign(pack_pair(left, right), Merge{count_++, joined});
}

const BpeMerges::Merge* BpeMerges::find(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pack_pair(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void BpeMerges::join(std::vector<std::int32_t>& tokens) const {
  constexpr std::int32_t joined = -1;  // merged with the token before it
  const std::size_t size = tokens.size();
  std::vector<std::size_t> next(size), previous(size);
  for (std::size_t i = 0; i < size; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;  // the first has none: wraps beyond the end; `size` marks the end
  }
  std::priority_queue<Candidate> candidates;
  const auto consider = [&](std::size_t left) {
    if (left >= size || next[left] >= size) return;
    const std::int32_t a = tokens[left], b = tokens[next[left]];
    if (const Merge* merge = find(a, b)) candidates.push({merge->rank, left, a, b});
  };
  for (std::size_t i = 0; i + 1 < size; ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const std::size_t right = next[best.at];
    if (tokens[best.at] != best.left || right >= size || tokens[right] != best.right) continue;  // merged meanwhile
    tokens[best.at] = find(best.left, best.right)->joined;
    tokens[right] = joined;
    next[best.at] = next[right];
    if (next[right] < size) previous[next[right]] = best.at;
    consider(previous[best.at]);
    consider(best.at);
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; i = next[i]) tokens[count++] = tokens[i];
  tokens.resize(count);
}

}  // namespace ptrain
