#include "core/passes/memory_plan.h"

#include "core/base/round_up.h"

#include <algorithm>
#include <numeric>

namespace ptrain {
namespace {

/// A memory block: an activation, and those that reuse it in place.
struct Buffer {
  std::int64_t bytes = 0;
  std::size_t first = 0;  // nodes between which it is alive, inclusive
  std::size_t last = 0;
  std::int64_t offset = -1;
};

class Planner {
 public:
  Planner(const Graph& graph, MemoryReuse reuse, const InPlaceRule& in_place)
      : graph_(graph), reuse_(reuse), in_place_(in_place), buffer_of_(graph.values().size(), -1) {}

  MemoryPlan run() {
    find_last_uses();
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) add_outputs(i);
    MemoryPlan plan;
    place(plan.arena_bytes);
    plan.offsets.assign(graph_.values().size(), -1);
    for (std::size_t i = 0; i < plan.offsets.size(); ++i) {
      if (buffer_of_[i] >= 0) plan.offsets[i] = buffers_[static_cast<std::size_t>(buffer_of_[i])].offset;
    }
    return plan;
  }

 private:
  bool in_arena(ValueId id) const {
    const Value& value = graph_.value(id);
    return value.storage == Storage::activation && value.base == no_value;
  }

  void find_last_uses() {
    last_use_.assign(graph_.values().size(), 0);
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      for (const ValueId id : graph_.nodes()[i].outputs) last_use_[static_cast<std::size_t>(id)] = i;
      for (const ValueId id : graph_.nodes()[i].inputs) {
        if (id != no_value) last_use_[static_cast<std::size_t>(graph_.root(id))] = i;
      }
    }
    for (const auto& output : graph_.outputs()) {
      last_use_[static_cast<std::size_t>(graph_.root(output.second))] = graph_.nodes().size();
    }
  }

  static std::int64_t aligned(std::size_t bytes) { return round_up(static_cast<std::int64_t>(bytes), arena_alignment); }

  /// The input's buffer, when output `index` of node `i` may overwrite it.
  int buffer_to_take_over(std::size_t i, std::size_t index) const {
    const Node& node = graph_.nodes()[i];
    const int input = node.op->inplace_input(static_cast<int>(index));
    if (in_place_ && !in_place_(*node.op)) return -1;
    if (reuse_ == MemoryReuse::off || input < 0 || static_cast<std::size_t>(input) >= node.inputs.size()) return -1;
    const ValueId id = node.inputs[static_cast<std::size_t>(input)];
    if (id == no_value || !in_arena(id) || last_use_[static_cast<std::size_t>(id)] != i) return -1;
    if (graph_.desc(id).bytes() != graph_.desc(node.outputs[index]).bytes()) return -1;
    if (std::count(node.inputs.begin(), node.inputs.end(), id) != 1) return -1;
    return buffer_of_[static_cast<std::size_t>(id)];
  }

  void add_outputs(std::size_t i) {
    const Node& node = graph_.nodes()[i];
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (!in_arena(id)) continue;
      const std::size_t last = last_use_[static_cast<std::size_t>(id)];
      int buffer = buffer_to_take_over(i, k);
      if (buffer < 0) {
        buffer = static_cast<int>(buffers_.size());
        buffers_.push_back({aligned(graph_.desc(id).bytes()), i, last, -1});
      }
      buffers_[static_cast<std::size_t>(buffer)].last = std::max(buffers_[static_cast<std::size_t>(buffer)].last, last);
      buffer_of_[static_cast<std::size_t>(id)] = buffer;
    }
  }

  bool overlap(const Buffer& a, const Buffer& b) const {
    return reuse_ == MemoryReuse::off || (a.first <= b.last && b.first <= a.last);
  }

  void place(std::int64_t& arena_bytes) {
    std::vector<std::size_t> order(buffers_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return buffers_[a].bytes > buffers_[b].bytes; });
    std::vector<const Buffer*> placed;  // by offset
    for (const std::size_t index : order) {
      Buffer& buffer = buffers_[index];
      std::int64_t offset = 0;
      for (const Buffer* other : placed) {
        if (!overlap(buffer, *other)) continue;
        if (offset + buffer.bytes <= other->offset) break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      buffer.offset = offset;
      arena_bytes = std::max(arena_bytes, offset + buffer.bytes);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), &buffer,
                                     [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; }),
                    &buffer);
    }
  }

  const Graph& graph_;
  MemoryReuse reuse_;
  const InPlaceRule& in_place_;
  std::vector<std::size_t> last_use_;
  std::vector<int> buffer_of_;
  std::vector<Buffer> buffers_;
};

}  // namespace

MemoryPlan plan_memory(const Graph& graph, MemoryReuse reuse, const InPlaceRule& in_place) {
  return Planner(graph, reuse, in_place).run();
}

}  // namespace ptrain
