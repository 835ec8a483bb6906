// Optimizer state of which each rank keeps a part (dist.shard): whole for checkpoints, and back.
#pragma once

#include "core/base/rank_slice.h"
#include "core/exec/variables.h"
#include "core/train/ranks.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// Whole tensors by their names in checkpoints, each of as many elements as flat::master.
using WholeState = std::map<std::string, std::vector<float>, std::less<>>;

/// The name of the tensor that a variable is, or is a part of.
std::string_view whole_name(std::string_view variable);

/// Collects every rank's parts on rank 0, one tensor at a time; empty on the others. Every rank calls it.
WholeState gather_shards(const Variables& variables, const Ranks& ranks, const std::optional<Shard>& shard);
/// Gives every rank its parts of rank 0's tensors, of zeros where it has none. Every rank calls it.
void scatter_shards(const WholeState& state, Variables& variables, const Ranks& ranks,
                    const std::optional<Shard>& shard);

}  // namespace ptrain
