// A graph compiled for a backend: kernels chosen, memory placed, pointers bound. Compile once, run many.
#pragma once

#include "core/exec/backend.h"
#include "core/exec/value_watch.h"
#include "core/exec/variables.h"
#include "core/passes/memory_plan.h"

#include <functional>
#include <initializer_list>
#include <map>

namespace ptrain {

/// Whether a backend may record a plan's launches and replay them.
enum class Recording { on, off };

struct PlanOptions {
  MemoryReuse memory = MemoryReuse::on;
  KernelOptions kernels = {};
  Recording recording = Recording::on;
  Collectives* collectives = nullptr;                                       // the other ranks; null: none
  ConstantStore* constants = nullptr;                                       // shared with other plans; null: not shared
  std::function<void(std::int64_t done, std::int64_t total)> on_node = {};  // after each node's kernel is chosen
};

/// Time and cost of one node, for the report.
struct NodeProfile {
  std::string name;
  std::string type;
  KernelRecord record;
  Pass phase = Pass::forward;
  Cost cost;           // of one run
  double seconds = 0;  // total
  std::int64_t runs = 0;
  AmpClass amp_class = AmpClass::grey;
  DType dtype = DType::f32;              // of its first result
  std::int64_t result_bytes = 0;         // of all results, views of its inputs included
  std::vector<std::string> inputs = {};  // the nodes whose results it reads
};

class Plan;

/// Memory that plans which never run at the same time (training, evaluation) share.
struct PlanMemory {
  PlanMemory(DeviceMemory& memory, std::size_t arena_bytes, std::size_t workspace_bytes)
      : arena(memory, arena_bytes), workspace(memory, workspace_bytes) {}
  PlanMemory(DeviceMemory& memory, std::initializer_list<const Plan*> plans);

  DeviceBuffer arena;
  DeviceBuffer workspace;
};

class Plan {
 public:
  /// Declares the graph's variables and compiles its kernels; allocates no arena memory yet.
  Plan(Graph graph, Backend& backend, Variables& variables, const PlanOptions& options);

  std::size_t arena_bytes() const { return static_cast<std::size_t>(memory_.arena_bytes); }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  std::size_t input_bytes() const;

  /// Allocates the inputs and binds every pointer. The variables must have been allocated, and `memory` outlive the
  /// plan.
  void bind(const PlanMemory& memory) { bind(memory.arena.data(), memory.workspace.data()); }
  /// The same with memory of at least arena_bytes() and workspace_bytes() at any address.
  void bind(std::byte* arena, std::byte* workspace);
  /// Uses other such memory from now on, once bound, between two runs; inputs stay where they are.
  void move(std::byte* arena, std::byte* workspace);

  /// Runs the nodes of the phases from `first` to `last`; on a device they may still run when it returns.
  void run(Pass first, Pass last);
  /// Whether the next run of these phases is like all later ones, with no launches left to record.
  bool steady(Pass first, Pass last);

  const Graph& graph() const { return graph_; }
  bool has_input(std::string_view name) const;
  /// Device memory of a fed input. Throws std::logic_error when there is none of that name.
  void* input(std::string_view name) const;
  void write_input(std::string_view name, const void* host, std::size_t bytes);
  /// Device memory of an output. Throws std::logic_error when there is none of that name.
  const void* output(std::string_view name) const;
  /// Copies an output to the host; waits for it.
  void read_output(std::string_view name, void* host, std::size_t bytes) const;
  /// Copies any value to the host (a gradient, for tests).
  void read_value(ValueId id, void* host, std::size_t bytes) const;

  /// Turns timing of every node on or off; timed launches are not recorded.
  void time_nodes(bool on);
  /// Shows every node's results to `watch` as it runs, which waits for each; null: to none. Such launches are not
  /// recorded either. `watch` must outlive the plan.
  void watch_values(ValueWatch* watch) { watch_ = watch; }
  std::vector<NodeProfile> profile() const;
  /// The nodes of the last timed run, in execution order.
  std::vector<NodeProfile> last_run() const;
  /// Summary of all guarded kernels: the sum of their comparisons, the largest drift; none where no kernel is guarded.
  std::optional<GuardFinding> guard_finding() const;

 private:
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<void*> inputs;
    std::vector<void*> outputs;
    Pass phase;
    double seconds = 0;
    std::int64_t runs = 0;
    double last_seconds = 0;
  };

  /// Whether launches go through a sequence, which may record them.
  bool uses_sequence() const { return laps_ == nullptr && watch_ == nullptr && recording_ == Recording::on; }
  LaunchSequence& sequence(Pass first, Pass last);
  void enqueue(Pass first, Pass last);
  void count_laps(Pass first, Pass last);
  void show_results(const Node& node);
  NodeProfile profile_step(std::size_t step) const;
  void* address(ValueId id) const;
  ValueId find_output(std::string_view name) const;

  Graph graph_;
  DeviceMemory& device_memory_;
  Stream& stream_;
  Collectives* collectives_;
  Variables& variables_;
  MemoryPlan memory_;
  std::vector<Step> steps_;
  std::vector<void*> addresses_;  // by value
  Recording recording_;
  ConstantStore* constants_;
  ConstantStore own_constants_;  // used if none are shared
  std::map<std::pair<Pass, Pass>, std::unique_ptr<LaunchSequence>> sequences_;
  void* workspace_ = nullptr;
  std::vector<DeviceBuffer> inputs_;
  std::size_t workspace_bytes_ = 0;
  std::unique_ptr<LapTimer> laps_;                                   // while nodes are timed
  std::pair<Pass, Pass> last_phases_{Pass::forward, Pass::forward};  // of the last timed run
  ValueWatch* watch_ = nullptr;
};

}  // namespace ptrain
