// Places every activation of a step in one arena.
//
// Policy: an activation lives from the node that makes it to the last node that reads it; outputs of the graph live to
// the end. Where an op allows it, an output takes over the memory of an input that dies there. Buffers are placed
// largest first, each at the lowest offset where it overlaps no placed buffer alive at the same time. With reuse off,
// every activation gets memory of its own, and nothing runs in place: results must not change (a test).
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

enum class MemoryReuse { off, on };

struct MemoryPlan {
  std::vector<std::int64_t> offsets;  // by value: bytes into the arena; -1 for what does not live there
  std::int64_t arena_bytes = 0;
};

/// Alignment of every buffer in the arena, bytes.
inline constexpr std::int64_t arena_alignment = 256;

/// By the policy above.
MemoryPlan plan_memory(const Graph& graph, MemoryReuse reuse);

}  // namespace ptrain
