#include "core/comm/pairing.h"

namespace ptrain {
namespace {

/// An even number of places, of which the last is empty where `ranks` is odd.
std::int64_t count_places(int ranks) { return ranks + ranks % 2; }

}  // namespace

std::int64_t count_rounds(int ranks) { return ranks < 2 ? 0 : count_places(ranks) - 1; }

int find_partner(int rank, int ranks, std::int64_t round) {
  const std::int64_t rounds = count_rounds(ranks);
  if (rounds == 0) return rank;
  const std::int64_t meets_itself = round % rounds;  // and so the rank in the last place, which does not move
  std::int64_t partner = meets_itself;
  if (rank < rounds) {
    partner = (2 * meets_itself - rank + rounds) % rounds;
    if (partner == rank) partner = rounds;
  }
  return partner < ranks ? static_cast<int>(partner) : rank;
}

}  // namespace ptrain
