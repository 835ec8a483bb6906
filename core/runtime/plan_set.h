// The plans of one model for the buckets that batches fall into: one for padded text and for images of one size, a few
// for packed text and for a training's phases. They share variables and memory; each is compiled when the first batch
// needs it.
#pragma once

#include "core/data/batch.h"
#include "core/exec/plan.h"
#include "core/model/model.h"

#include <functional>
#include <list>

namespace ptrain {

/// The extents that a batch itself has: rows, tokens, height and width of images.
Bucket measure_extents(const Batch& batch);

/// Arithmetic and memory traffic of a step's forward and backward, without the optimizer's.
Cost step_cost(const Graph& graph);

class PlanSet {
 public:
  /// Which graph runs a batch.
  struct Shapes {
    std::function<Graph(const Bucket& bucket)> build;
    /// What it is built for, from the batch's own extents.
    std::function<Bucket(const Bucket& batch)> planned;
  };
  struct Member {
    Plan plan;
    Cost cost;               // forward and backward, once
    std::int64_t batches{};  // that it ran
  };

  /// Compiles the plan for batches of `largest`, whose memory bounds that of the others. The backend and the variables
  /// outlive the set.
  PlanSet(Shapes shapes, const Bucket& largest, Backend& backend, Variables& variables, const PlanOptions& options);

  Plan& largest() { return largest_->plan; }
  const Member& largest_member() const { return *largest_; }
  /// The plan that runs the batch; null before for_batch() has compiled it.
  Member* find(const Batch& batch);
  /// The smallest plan that holds the batch; compiles it if no batch needed it before.
  Member& for_batch(const Batch& batch);
  /// The same for batches of these extents.
  Member& for_bucket(const Bucket& batch);

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
  /// most, and so is all where plans have other nodes.
  std::vector<NodeProfile> profile() const;
  /// As Plan's, of all plans together.
  std::optional<GuardFinding> guard_finding() const;

 private:
  Member& compile(const Bucket& bucket);
  void bind(Plan& plan);
  /// Of `shared` or, where that is too small, of one of `own`, which is made if need be.
  std::byte* provide_memory(const DeviceBuffer& shared, std::list<DeviceBuffer>& own, std::size_t bytes);

  Shapes shapes_;
  Backend& backend_;
  Variables& variables_;
  PlanOptions options_;
  std::map<Bucket, Member> members_;
  Member* largest_ = nullptr;
  const PlanMemory* memory_ = nullptr;
  std::list<DeviceBuffer> own_arenas_, own_workspaces_;
  double compile_seconds_ = 0;
  bool profiles_ = false;
};

}  // namespace ptrain
