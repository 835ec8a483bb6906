// The plans of one model, by bucket of batch extents: one for padded text and for images of one size, several for
// packed text and for a training's phases. They share variables and memory; each is compiled when first needed.
#pragma once

#include "core/data/batch.h"
#include "core/exec/plan.h"
#include "core/model/model.h"

#include <functional>

namespace ptrain {

/// The extents of a batch: rows, tokens, height and width of images, and those of add_extents().
Bucket measure_extents(const Batch& batch);
/// Adds the extents that a tensor of samples alone has: objects of an image, runs of their masks.
void add_extents(const TensorSpec& spec, Bucket& extents);

/// Arithmetic and memory traffic of a step's forward and backward pass, without the optimizer.
Cost step_cost(const Graph& graph);

class PlanSet {
 public:
  /// Selects and builds the graph for a batch.
  struct Shapes {
    std::function<Graph(const Bucket& bucket)> build;
    /// The extents of the graph, from the batch's own.
    std::function<Bucket(const Bucket& batch)> planned;
  };
  struct Member {
    Plan plan;
    Cost cost;               // of one forward and backward pass
    std::int64_t batches{};  // number of batches it ran
  };

  /// Compiles the plan for batches of `largest`, whose memory is enough for the others. The backend and the variables
  /// must outlive the set.
  PlanSet(Shapes shapes, const Bucket& largest, Backend& backend, Variables& variables, const PlanOptions& options);

  Plan& largest() { return largest_->plan; }
  const Member& largest_member() const { return *largest_; }
  /// The plan that runs the batch; null before for_batch() has compiled it.
  Member* find(const Batch& batch);
  /// The smallest plan that holds the batch, compiled if no batch needed it before.
  Member& for_batch(const Batch& batch);
  /// The same for batches of these extents.
  Member& for_bucket(const Bucket& batch);

  /// Bytes for the compiled plans.
  std::size_t arena_bytes() const;
  std::size_t workspace_bytes() const;
  std::size_t input_bytes() const;
  /// Seconds spent on building their graphs, including fusion choices, and compiling them.
  double compile_seconds() const { return compile_seconds_; }
  std::size_t size() const { return members_.size(); }

  /// Calls Plan::bind for present and later plans. Those that need a larger arena or workspace than `memory` has share
  /// one of the set's own, which grows.
  void bind(const PlanMemory& memory);

  /// Enables profiling in all plans.
  void enable_profile();
  /// As Plan::watch_values, in present and later plans.
  void watch_values(ValueWatch* watch);
  /// Profiles of all plans together, with costs as a mean over batches; other fields are from the plan that ran most,
  /// and so is everything if the plans have different nodes.
  std::vector<NodeProfile> profile() const;
  /// As Plan::guard_finding, over all plans.
  std::optional<GuardFinding> guard_finding() const;

 private:
  Member& compile(const Bucket& bucket);
  /// Binds a plan that was compiled after bind().
  void add(Plan& plan);
  /// Makes the set's own memory large enough for all plans where the shared one is not; true if it has moved.
  bool provide_memory();
  std::byte* find_arena(const Plan& plan) const;
  std::byte* find_workspace(const Plan& plan) const;

  Shapes shapes_;
  Backend& backend_;
  Variables& variables_;
  PlanOptions options_;
  std::map<Bucket, Member> members_;
  Member* largest_ = nullptr;
  const PlanMemory* memory_ = nullptr;
  DeviceBuffer own_arena_, own_workspace_;
  double compile_seconds_ = 0;
  bool profiles_ = false;
  ValueWatch* watch_ = nullptr;
};

}  // namespace ptrain
