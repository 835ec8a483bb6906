#include "core/passes/update/early_updates.h"

#include "core/passes/rewriter.h"

#include <algorithm>
#include <set>

namespace ptrain {
namespace {

/// An update that is moved forward.
struct Waiting {
  std::size_t node;   // the update
  std::size_t maker;  // computes its gradient
  std::size_t reads;  // just after the last node that reads its parameter
};

std::vector<Waiting> find_waiting(const Graph& graph, const std::map<std::size_t, EarlyUpdate>& early) {
  std::vector<std::size_t> read(graph.values().size(), 0);  // by value: just after the last node that reads it
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (early.contains(i)) continue;
    for (const ValueId id : graph.nodes()[i].inputs) {
      if (id != no_value) read[static_cast<std::size_t>(id)] = i + 1;
    }
  }
  std::vector<Waiting> waiting;
  for (const auto& [node, update] : early) {
    waiting.push_back(
        {node, static_cast<std::size_t>(graph.value(update.gradient).producer),
         std::max(read[static_cast<std::size_t>(update.parameter)], read[static_cast<std::size_t>(update.master)])});
  }
  return waiting;
}

/// Whether a gradient is computed as late as possible, when most activations are freed: the inputs that it keeps alive
/// until then are small compared with the gradient.
bool makes_late(const Graph& graph, const Node& node) {
  constexpr std::size_t small_share = 4;
  std::size_t read = 0, made = 0;
  for (const ValueId id : node.inputs) read += id == no_value ? 0 : graph.desc(id).bytes();
  for (const ValueId id : node.outputs) made += graph.desc(id).bytes();
  return small_share * read <= made;
}

bool reads_from(const Node& reader, const Node& maker) {
  return std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](ValueId id) {
    return id != no_value && std::find(maker.outputs.begin(), maker.outputs.end(), id) != maker.outputs.end();
  });
}

}  // namespace

Graph move_early_updates(const Graph& graph, const std::map<std::size_t, EarlyUpdate>& early) {
  const std::vector<Node>& nodes = graph.nodes();
  std::vector<Waiting> updates = find_waiting(graph, early);
  std::set<std::size_t> late;
  for (const Waiting& update : updates) {
    if (makes_late(graph, nodes[update.maker])) late.insert(update.maker);
  }
  Rewriter rewriter(graph);
  const auto update_what_is_ready = [&](std::size_t done) {
    std::erase_if(updates, [&](const Waiting& update) {
      const ValueId gradient = early.at(update.node).gradient;
      const bool ready = rewriter.mapped(gradient) != no_value && update.reads <= done;
      if (ready) rewriter.copy(nodes[update.node]);
      return ready;
    });
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (early.contains(i) || late.contains(i)) continue;
    const bool ends_backward = nodes[i].phase == Pass::update;
    std::erase_if(late, [&](std::size_t node) {
      const bool due = ends_backward || reads_from(nodes[i], nodes[node]);
      if (!due) return false;
      rewriter.copy(nodes[node]);
      update_what_is_ready(i);
      return true;
    });
    rewriter.copy(nodes[i]);
    update_what_is_ready(i + 1);
  }
  return rewriter.finish();
}

}  // namespace ptrain
