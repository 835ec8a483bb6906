// Places every activation of a step in one arena.
//
// Policy: an activation lives from the node that writes it to the last node that reads it; outputs of the graph live to
// the end. Where an op allows it, an output takes over the memory of an input that dies there. Buffers are placed
// largest first, each at the lowest offset where it overlaps no placed buffer alive at the same time. With reuse off,
// every activation has its own memory and nothing runs in place; a test checks that results are the same.
#pragma once

#include "core/graph/graph.h"

#include <functional>

namespace ptrain {

enum class MemoryReuse { off, on };

struct MemoryPlan {
  std::vector<std::int64_t> offsets;  // by value: bytes into the arena; -1 for values outside it
  std::int64_t arena_bytes = 0;
};

/// Alignment of every buffer in the arena, bytes.
inline constexpr std::int64_t arena_alignment = 256;

/// Whether the backend's kernel for an op may write an output over the input that Op::inplace_input() names; empty:
/// each may.
using InPlaceRule = std::function<bool(const Op& op)>;

/// Places activations by the policy above.
MemoryPlan plan_memory(const Graph& graph, MemoryReuse reuse, const InPlaceRule& in_place = {});

}  // namespace ptrain
