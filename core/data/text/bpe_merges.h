// The merges of a byte pair encoding: which two adjacent tokens become one, and in which order.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ptrain {

class BpeMerges {
 public:
  /// Merges are added in their order; of a pair that is added again, the last counts.
  void add(std::int32_t left, std::int32_t right, std::int32_t joined);
  /// Joins a word's tokens: the pair of the lowest rank first, then the leftmost.
  void join(std::vector<std::int32_t>& tokens) const;

 private:
  struct Merge {
    std::int32_t rank, joined;
  };
  const Merge* find(std::int32_t left, std::int32_t right) const;

  std::unordered_map<std::uint64_t, Merge> merges_;  // by the two tokens
  std::int32_t count_ = 0;
};

}  // namespace ptrain
