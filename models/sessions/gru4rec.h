// GRU4Rec (Hidasi et al. 2016, Hidasi and Karatzoglou 2018) for the next item of a session: an item's row of a table, a
// GRU, and products with the rows of all items. Variables have the names of the authors' PyTorch code.
#pragma once

#include "models/sessions/session_blocks.h"

namespace ptrain {

/// Scores are of all items after each of a session's, or of candidates (SessionBlocks).
std::unique_ptr<Model> make_gru4rec(const SessionSpec& spec);

}  // namespace ptrain
