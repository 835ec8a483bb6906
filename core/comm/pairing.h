// Rounds in which every rank meets one other, until all have met: the circle method of round-robin tournaments.
#pragma once

#include <cstdint>

namespace ptrain {

/// Rounds until every pair of `ranks` has met.
std::int64_t count_rounds(int ranks);

/// Whom `rank` meets in a round, counted from 0 and taken modulo count_rounds(). Itself: nobody, as one rank does in
/// each round where their number is odd.
int find_partner(int rank, int ranks, std::int64_t round);

}  // namespace ptrain
