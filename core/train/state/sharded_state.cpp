#include "core/train/state/sharded_state.h"

#include "core/passes/optimizer.h"

#include <algorithm>

namespace ptrain {
namespace {

std::vector<std::string> list_shards(const Variables& variables) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : variables.entries()) {
    if (is_shard(name)) names.push_back(name);
  }
  return names;
}

std::int64_t count_whole(const Variables& variables) { return variables.at(flat::master).desc.count(); }

}  // namespace

std::string_view whole_name(std::string_view variable) {
  return is_shard(variable) ? variable.substr(0, variable.size() - flat::shard.size()) : variable;
}

WholeState gather_shards(const Variables& variables, const Ranks& ranks, const std::optional<Shard>& shard) {
  WholeState state;
  for (const std::string& name : list_shards(variables)) {
    const std::int64_t count = count_whole(variables);
    std::vector<float> whole(ranks.is_main() ? static_cast<std::size_t>(count) : 0);
    for (int rank = 0; rank < ranks.world_size(); ++rank) {
      Shard from = shard.value();
      from.rank = rank;
      std::vector<float> part = rank == ranks.rank() ? variables.read_f32(name)
                                                     : std::vector<float>(static_cast<std::size_t>(from.size(count)));
      ranks.communicator()->broadcast(std::as_writable_bytes(std::span(part)), rank);
      if (!ranks.is_main()) continue;
      auto at = part.begin();
      for (const RankSlice& slice : from.slices(count)) {
        std::copy_n(at, slice.count(), whole.begin() + slice.begin);
        at += slice.count();
      }
    }
    if (ranks.is_main()) state.emplace(whole_name(name), std::move(whole));
  }
  return state;
}

void scatter_shards(const WholeState& state, Variables& variables, const Ranks& ranks,
                    const std::optional<Shard>& shard) {
  for (const std::string& name : list_shards(variables)) {
    const auto found = state.find(whole_name(name));
    std::vector<float> whole(static_cast<std::size_t>(count_whole(variables)));
    if (found != state.end()) whole = found->second;
    ranks.communicator()->broadcast(std::as_writable_bytes(std::span(whole)), 0);
    std::vector<float> mine;
    for (const RankSlice& slice : shard.value().slices(count_whole(variables))) {
      mine.insert(mine.end(), whole.begin() + slice.begin, whole.begin() + slice.end);
    }
    mine.resize(static_cast<std::size_t>(variables.at(name).desc.count()));
    variables.write(name, mine.data(), mine.size() * sizeof(float));
  }
}

}  // namespace ptrain
