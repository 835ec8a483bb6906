// Sequence Semantic Retrieval for the next item of a session, after Song et al. 2016 (Multi-Rate Deep Learning for
// Temporal Recommendation): users and items become vectors of one space, and the next item's is to be nearer to the
// user's than others are.
#pragma once

#include "models/sessions/session_blocks.h"

namespace ptrain {

/// Scores are the cosines of users and of all items after each of a session's items, or of candidates (SessionBlocks).
/// A user's vector is a linear layer of the largest states so far of a GRU that resets first; an item's is one of its
/// row of the table.
std::unique_ptr<Model> make_ssr(const SessionSpec& spec);

}  // namespace ptrain
