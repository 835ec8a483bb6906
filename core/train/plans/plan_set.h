// The plans of one graph at the capacities that batches need: one for padded text and for images, a few for packed
// text. They share variables and memory; each is compiled when the first batch needs it.
#pragma once

#include "core/data/batch.h"
#include "core/exec/plan.h"

#include <functional>
#include <list>

namespace ptrain {

class PlanSet {
 public:
  /// Which graph runs a batch; `tokens` is the capacity of packed text, 0 without.
  struct Shapes {
    std::function<Graph(std::int64_t tokens)> build;
    std::function<std::int64_t(std::int64_t tokens)> capacity;  // for a batch of so many tokens
  };
  struct Member {
    Plan plan;
    Cost cost;               // forward and backward, once
    std::int64_t batches{};  // that it ran
  };

  /// Compiles the plan for the most tokens, whose memory bounds that of the others. The backend and the variables
  /// outlive the set.
  PlanSet(Shapes shapes, std::int64_t most_tokens, Backend& backend, Variables& variables, const PlanOptions& options);

  Plan& largest() { return largest_->plan; }
  const Member& largest_member() const { return *largest_; }
  /// The plan that runs the batch; null before for_batch() has compiled it.
  Member* find(const Batch& batch);
  /// The smallest plan that holds the batch; compiles it if no batch needed it before.
  Member& for_batch(const Batch& batch);

  /// Of the plans that are compiled.
  std::size_t arena_bytes() const;
  std::size_t workspace_bytes() const;
  std::size_t input_bytes() const;
  /// What building their graphs, choices of fusion included, and compiling them took.
  double compile_seconds() const { return compile_seconds_; }
  std::size_t size() const { return members_.size(); }

  /// As Plan::bind, for these plans and those that are compiled later. One that needs a larger arena or workspace than
  /// `memory` has takes its own.
  void bind(const PlanMemory& memory);

  /// As Plan's.
  void enable_profile();
  /// Of each node in all plans together, costs as a mean over batches; what else differs is that of the plan that ran
  /// most.
  std::vector<NodeProfile> profile() const;

 private:
  std::int64_t capacity_for(const Batch& batch) const;
  Member& compile(std::int64_t capacity);
  void bind(Plan& plan);
  /// Of `shared` or, where that is too small, of one of `own`, which is made if need be.
  std::byte* memory_of(const DeviceBuffer& shared, std::list<DeviceBuffer>& own, std::size_t bytes);

  Shapes shapes_;
  Backend& backend_;
  Variables& variables_;
  PlanOptions options_;
  std::map<std::int64_t, Member> members_;  // by capacity
  Member* largest_ = nullptr;
  const PlanMemory* memory_ = nullptr;
  std::list<DeviceBuffer> own_arenas_, own_workspaces_;
  double compile_seconds_ = 0;
  bool profiles_ = false;
};

}  // namespace ptrain
