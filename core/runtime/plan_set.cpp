#include "core/runtime/plan_set.h"

#include "core/base/clock.h"
#include "core/data/tensor_names.h"

#include <algorithm>
#include <numeric>

namespace ptrain {

Bucket measure_extents(const Batch& batch) {
  std::int64_t tokens = 0;  // the more of a text's and its translation's, for which a graph has the same capacity
  for (const char* name : {tensor_names::lengths, tensor_names::decoder_lengths}) {
    if (!batch.has(name)) continue;
    const auto lengths = batch.values<std::int32_t>(name);
    tokens = std::max(tokens, std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  }
  const ImageSize size = find_image_size(batch);
  Bucket extents(
      batch.rows(),
      {{extent_names::tokens, tokens}, {extent_names::height, size.height}, {extent_names::width, size.width}});
  for (const auto& [spec, tensor] : batch.entries()) add_extents(spec, extents);
  return extents;
}

void add_extents(const TensorSpec& spec, Bucket& extents) {
  if (spec.name == tensor_names::annotations) extents.set(extent_names::objects, spec.shape[0]);
  if (spec.name == tensor_names::object_masks) extents.set(extent_names::mask_runs, spec.shape[0]);
}

Cost step_cost(const Graph& graph) {
  Cost total;
  for (const Node& node : graph.nodes()) {
    if (node.phase > Pass::backward) continue;
    const Cost cost = node.op->cost(graph.input_descs(node), graph.output_descs(node));
    if (node.phase != Pass::recompute) total.flops += cost.flops;  // utilization is that by what the model needs
    total.bytes += cost.bytes;
  }
  return total;
}

PlanSet::PlanSet(Shapes shapes, const Bucket& largest, Backend& backend, Variables& variables,
                 const PlanOptions& options)
    : shapes_(std::move(shapes)), backend_(backend), variables_(variables), options_(options) {
  largest_ = &for_bucket(largest);
}

PlanSet::Member& PlanSet::compile(const Bucket& bucket) {
  const Stopwatch watch;
  Plan plan(shapes_.build(bucket), backend_, variables_, options_);
  compile_seconds_ += watch.seconds();
  const Cost cost = step_cost(plan.graph());
  Member& member = members_.try_emplace(bucket, Member{std::move(plan), cost}).first->second;
  if (profiles_) member.plan.time_nodes(true);
  member.plan.watch_values(watch_);
  if (memory_ != nullptr) add(member.plan);
  return member;
}

PlanSet::Member* PlanSet::find(const Batch& batch) {
  const auto found = members_.find(shapes_.planned(measure_extents(batch)));
  return found != members_.end() ? &found->second : nullptr;
}

PlanSet::Member& PlanSet::for_batch(const Batch& batch) { return for_bucket(measure_extents(batch)); }

PlanSet::Member& PlanSet::for_bucket(const Bucket& batch) {
  const Bucket bucket = shapes_.planned(batch);
  const auto found = members_.find(bucket);
  return found != members_.end() ? found->second : compile(bucket);
}

std::size_t PlanSet::arena_bytes() const {
  std::size_t most = 0;
  for (const auto& [bucket, member] : members_) most = std::max(most, member.plan.arena_bytes());
  return most;
}

std::size_t PlanSet::workspace_bytes() const {
  std::size_t most = 0;
  for (const auto& [bucket, member] : members_) most = std::max(most, member.plan.workspace_bytes());
  return most;
}

std::size_t PlanSet::input_bytes() const {
  std::size_t total = 0;
  for (const auto& [bucket, member] : members_) total += member.plan.input_bytes();
  return total;
}

void PlanSet::bind(const PlanMemory& memory) {
  memory_ = &memory;
  provide_memory();
  for (auto& [bucket, member] : members_) member.plan.bind(find_arena(member.plan), find_workspace(member.plan));
}

void PlanSet::add(Plan& plan) {
  const bool moved = provide_memory();
  plan.bind(find_arena(plan), find_workspace(plan));
  if (!moved) return;
  for (auto& [bucket, member] : members_) {
    if (&member.plan != &plan) member.plan.move(find_arena(member.plan), find_workspace(member.plan));
  }
}

bool PlanSet::provide_memory() {
  const auto grow = [this](const DeviceBuffer& shared, DeviceBuffer& own, std::size_t bytes) {
    if (bytes <= std::max(shared.bytes(), own.bytes())) return false;
    own = DeviceBuffer();  // before there is another
    own = DeviceBuffer(backend_.memory(), bytes);
    return true;
  };
  const bool arena_moved = grow(memory_->arena, own_arena_, arena_bytes());
  return grow(memory_->workspace, own_workspace_, workspace_bytes()) || arena_moved;
}

std::byte* PlanSet::find_arena(const Plan& plan) const {
  return plan.arena_bytes() <= memory_->arena.bytes() ? memory_->arena.data() : own_arena_.data();
}

std::byte* PlanSet::find_workspace(const Plan& plan) const {
  return plan.workspace_bytes() <= memory_->workspace.bytes() ? memory_->workspace.data() : own_workspace_.data();
}

void PlanSet::enable_profile() {
  profiles_ = true;
  for (auto& [bucket, member] : members_) member.plan.time_nodes(true);
}

void PlanSet::watch_values(ValueWatch* watch) {
  watch_ = watch;
  for (auto& [bucket, member] : members_) member.plan.watch_values(watch);
}

std::vector<NodeProfile> PlanSet::profile() const {
  const auto busiest = std::max_element(members_.begin(), members_.end(), [](const auto& a, const auto& b) {
    return a.second.batches < b.second.batches;
  });
  std::vector<NodeProfile> merged = busiest->second.plan.profile();
  double batches = 0;
  for (const auto& [bucket, member] : members_) batches += static_cast<double>(member.batches);
  const bool alike = std::all_of(members_.begin(), members_.end(), [&](const auto& member) {
    return member.second.plan.graph().nodes().size() == merged.size();
  });
  if (members_.size() == 1 || batches == 0 || !alike) return merged;
  for (NodeProfile& node : merged) node.cost = {}, node.seconds = 0, node.runs = 0;
  for (const auto& [bucket, member] : members_) {
    const std::vector<NodeProfile> mine = member.plan.profile();
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

std::optional<GuardFinding> PlanSet::guard_finding() const {
  std::optional<GuardFinding> all;
  for (const auto& [bucket, member] : members_) join(all, member.plan.guard_finding());
  return all;
}

}  // namespace ptrain
