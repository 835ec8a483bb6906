#include "core/train/plan_set.h"

#include "core/base/clock.h"
#include "core/base/errors.h"

#include <algorithm>
#include <numeric>

namespace ptrain {
namespace {

Cost step_cost(const Plan& plan) {
  Cost total;
  for (const NodeProfile& node : plan.profile()) {
    if (node.phase > Phase::backward) continue;
    total.flops += node.cost.flops;
    total.bytes += node.cost.bytes;
  }
  return total;
}

}  // namespace

PlanSet::PlanSet(Shapes shapes, std::int64_t most_tokens, Backend& backend, Variables& variables,
                 const PlanOptions& options)
    : shapes_(std::move(shapes)), backend_(backend), variables_(variables), options_(options) {
  largest_ = &compile(shapes_.capacity(most_tokens));
}

PlanSet::Member& PlanSet::compile(std::int64_t capacity) {
  const Stopwatch watch;
  Plan plan(shapes_.build(capacity), backend_, variables_, options_);
  compile_seconds_ += watch.seconds();
  const Cost cost = step_cost(plan);
  Member& member = members_.try_emplace(capacity, Member{std::move(plan), cost}).first->second;
  if (profiles_) member.plan.enable_profile();
  if (memory_ != nullptr) bind(member.plan);
  return member;
}

PlanSet::Member& PlanSet::for_batch(const Batch& batch) {
  const std::int64_t tokens = std::accumulate(batch.lengths.begin(), batch.lengths.end(), std::int64_t{0});
  const std::int64_t capacity = shapes_.capacity(tokens);
  const auto found = members_.find(capacity);
  return found != members_.end() ? found->second : compile(capacity);
}

std::size_t PlanSet::arena_bytes() const {
  std::size_t most = 0;
  for (const auto& [capacity, member] : members_) most = std::max(most, member.plan.arena_bytes());
  return most;
}

std::size_t PlanSet::workspace_bytes() const {
  std::size_t most = 0;
  for (const auto& [capacity, member] : members_) most = std::max(most, member.plan.workspace_bytes());
  return most;
}

std::size_t PlanSet::input_bytes() const {
  std::size_t total = 0;
  for (const auto& [capacity, member] : members_) total += member.plan.input_bytes();
  return total;
}

void PlanSet::bind(const PlanMemory& memory) {
  memory_ = &memory;
  for (auto& [capacity, member] : members_) bind(member.plan);
}

void PlanSet::bind(Plan& plan) {
  const auto holds = [&plan](const PlanMemory& memory) {
    return memory.arena.bytes() >= plan.arena_bytes() && memory.workspace.bytes() >= plan.workspace_bytes();
  };
  if (holds(*memory_)) return plan.bind(*memory_);
  const auto own = std::find_if(own_memory_.begin(), own_memory_.end(), holds);
  plan.bind(own != own_memory_.end() ? *own
                                     : own_memory_.emplace_back(backend_, std::initializer_list<const Plan*>{&plan}));
}

void PlanSet::enable_profile() {
  profiles_ = true;
  for (auto& [capacity, member] : members_) member.plan.enable_profile();
}

std::vector<NodeProfile> PlanSet::profile() const {
  const auto busiest = std::max_element(members_.begin(), members_.end(), [](const auto& a, const auto& b) {
    return a.second.batches < b.second.batches;
  });
  std::vector<NodeProfile> merged = busiest->second.plan.profile();
  double batches = 0;
  for (const auto& [capacity, member] : members_) batches += static_cast<double>(member.batches);
  if (members_.size() == 1 || batches == 0) return merged;
  for (NodeProfile& node : merged) node.cost = {}, node.seconds = 0, node.runs = 0;
  for (const auto& [capacity, member] : members_) {
    const std::vector<NodeProfile> mine = member.plan.profile();
    invariant(mine.size() == merged.size(), "plans of one model differ in more than their capacity");
    const double share = static_cast<double>(member.batches) / batches;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      merged[i].cost.flops += share * mine[i].cost.flops;
      merged[i].cost.bytes += share * mine[i].cost.bytes;
      merged[i].seconds += mine[i].seconds;
      merged[i].runs += mine[i].runs;
    }
  }
  return merged;
}

}  // namespace ptrain
