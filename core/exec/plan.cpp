#include "core/exec/plan.h"

#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/exec/all_reduce_kernels.h"

namespace ptrain {
namespace {

std::unique_ptr<Kernel> make_kernel(KernelLibrary& kernels, const KernelContext& context) {
  std::unique_ptr<Kernel> kernel = make_all_reduce_kernel(context);
  return kernel != nullptr ? std::move(kernel) : kernels.make_kernel(context);
}

}  // namespace

PlanMemory::PlanMemory(DeviceMemory& memory, std::initializer_list<const Plan*> plans) {
  std::size_t arena_bytes = 0, workspace_bytes = 0;
  for (const Plan* plan : plans) {
    arena_bytes = std::max(arena_bytes, plan->arena_bytes());
    workspace_bytes = std::max(workspace_bytes, plan->workspace_bytes());
  }
  arena = DeviceBuffer(memory, arena_bytes);
  workspace = DeviceBuffer(memory, workspace_bytes);
}

Plan::Plan(Graph graph, Backend& backend, Variables& variables, const PlanOptions& options)
    : graph_(std::move(graph)),
      device_memory_(backend.memory()),
      stream_(backend.stream()),
      collectives_(options.collectives),
      variables_(variables),
      memory_(plan_memory(graph_, options.memory, backend.kernels(), options.kernels)),
      recording_(options.recording),
      constants_(options.constants) {
  variables_.declare(graph_);
  for (const Node& node : graph_.nodes()) {
    InterruptibleWork::check("while kernels were chosen; those chosen so far are kept");
    const std::vector<TensorDesc> inputs = graph_.input_descs(node);
    const std::vector<TensorDesc> outputs = graph_.output_descs(node);
    Step step;
    step.phase = node.phase;
    step.kernel = make_kernel(backend.kernels(), {*node.op, inputs, outputs, options.kernels,
                                                  &backend.kernels().search_cache(), collectives_});
    if (collectives_ != nullptr) collectives_->note_progress();
    workspace_bytes_ = std::max(workspace_bytes_, step.kernel->workspace_bytes());
    steps_.push_back(std::move(step));
    if (options.on_node) {
      options.on_node(static_cast<std::int64_t>(steps_.size()), static_cast<std::int64_t>(graph_.nodes().size()));
    }
  }
}

std::size_t Plan::input_bytes() const {
  std::size_t bytes = 0;
  for (const Value& value : graph_.values()) bytes += value.storage == Storage::input ? value.desc.bytes() : 0;
  return bytes;
}

void Plan::bind(std::byte* arena, std::byte* workspace) {
  own_constants_.clear();
  ConstantStore& constants = constants_ != nullptr ? *constants_ : own_constants_;
  addresses_.assign(graph_.values().size(), nullptr);
  for (std::size_t i = 0; i < graph_.values().size(); ++i) {
    const Value& value = graph_.values()[i];
    if (value.storage == Storage::input) {
      inputs_.emplace_back(device_memory_, value.desc.bytes());
      addresses_[i] = inputs_.back().data();
    } else if (value.storage != Storage::activation) {
      addresses_[i] = variables_.at(value.name).data;
    } else if (value.base != no_value) {
      const ValueId root = graph_.root(static_cast<ValueId>(i));
      addresses_[i] = variables_.at(graph_.value(root).name).data + value.byte_offset;
    }
  }
  for (Step& step : steps_) step.kernel->weights_changed(constants);
  move(arena, workspace);
}

void Plan::move(std::byte* arena, std::byte* workspace) {
  sequences_.clear();
  workspace_ = workspace;
  for (std::size_t i = 0; i < graph_.values().size(); ++i) {
    const Value& value = graph_.values()[i];
    if (value.storage == Storage::activation && value.base == no_value) addresses_[i] = arena + memory_.offsets[i];
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].inputs.clear();
    steps_[i].outputs.clear();
    for (const ValueId id : graph_.nodes()[i].inputs) steps_[i].inputs.push_back(address(id));
    for (const ValueId id : graph_.nodes()[i].outputs) steps_[i].outputs.push_back(address(id));
  }
}

void* Plan::address(ValueId id) const { return id == no_value ? nullptr : addresses_[static_cast<std::size_t>(id)]; }

void Plan::run(Pass first, Pass last) {
  stream_.begin_run();
  if (!uses_sequence()) return enqueue(first, last);
  sequence(first, last).run([&] { enqueue(first, last); });
}

bool Plan::steady(Pass first, Pass last) { return !uses_sequence() || sequence(first, last).steady(); }

LaunchSequence& Plan::sequence(Pass first, Pass last) {
  std::unique_ptr<LaunchSequence>& sequence = sequences_[{first, last}];
  if (sequence == nullptr) sequence = stream_.make_sequence();
  return *sequence;
}

void Plan::enqueue(Pass first, Pass last) {
  if (laps_ != nullptr) laps_->start();
  std::optional<Pass> phase;  // the pass whose profiler range is open
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.phase < first || step.phase > last) continue;
    if (collectives_ != nullptr) collectives_->note_progress();
    if (phase != step.phase) {
      if (phase) stream_.end_range();
      phase = step.phase;
      stream_.begin_range(phase_name(step.phase));
    }
    stream_.begin_range(graph_.nodes()[i].name.c_str());
    step.kernel->run({step.inputs, step.outputs, workspace_});
    stream_.end_range();
    if (laps_ != nullptr) laps_->lap();
    if (watch_ != nullptr) show_results(graph_.nodes()[i]);
  }
  if (phase) stream_.end_range();
  if (laps_ != nullptr) count_laps(first, last);
}

void Plan::show_results(const Node& node) {
  std::vector<std::byte> copy;
  watch_->add(graph_, node, [&](ValueId id) -> const std::byte* {
    if (device_memory_.host_reads_device()) return static_cast<const std::byte*>(address(id));
    copy.resize(graph_.desc(id).bytes());
    read_value(id, copy.data(), copy.size());
    return copy.data();
  });
}

void Plan::count_laps(Pass first, Pass last) {
  const std::span<const double> seconds = laps_->seconds();
  std::size_t lap = 0;
  for (Step& step : steps_) {
    if (step.phase < first || step.phase > last) continue;
    step.last_seconds = seconds[lap++];
    step.seconds += step.last_seconds;
    ++step.runs;
  }
  last_phases_ = {first, last};
}

void Plan::time_nodes(bool on) {
  if (!on) laps_.reset();
  if (on && laps_ == nullptr) laps_ = stream_.make_lap_timer();
}

bool Plan::has_input(std::string_view name) const {
  const ValueId id = graph_.find_value(name);
  return id != no_value && graph_.value(id).storage == Storage::input;
}

void* Plan::input(std::string_view name) const {
  if (!has_input(name)) throw std::logic_error(fmt::format("internal error: the graph has no input {}", name));
  return address(graph_.find_value(name));
}

void Plan::write_input(std::string_view name, const void* host, std::size_t bytes) {
  void* device = input(name);
  invariant(bytes <= graph_.desc(graph_.find_value(name)).bytes(), "an input is written past its end");
  device_memory_.copy_to_device(device, host, bytes);
}

ValueId Plan::find_output(std::string_view name) const {
  const ValueId id = graph_.find_output(name);
  if (id == no_value) throw std::logic_error(fmt::format("internal error: the graph has no output {}", name));
  return id;
}

const void* Plan::output(std::string_view name) const { return address(find_output(name)); }

void Plan::read_output(std::string_view name, void* host, std::size_t bytes) const {
  read_value(find_output(name), host, bytes);
}

void Plan::read_value(ValueId id, void* host, std::size_t bytes) const {
  invariant(bytes <= graph_.desc(id).bytes(), "a value is read past its end");
  device_memory_.copy_to_host(host, address(id), bytes);
}

NodeProfile Plan::profile_step(std::size_t step) const {
  const Node& node = graph_.nodes()[step];
  const std::vector<TensorDesc> results = graph_.output_descs(node);
  NodeProfile profile{node.name,
                      std::string(node.op->type()),
                      steps_[step].kernel->record(),
                      node.phase,
                      node.op->cost(graph_.input_descs(node), results),
                      steps_[step].seconds,
                      steps_[step].runs,
                      node.op->amp_class()};
  if (!results.empty()) profile.dtype = results.front().dtype;
  for (const TensorDesc& result : results) profile.result_bytes += static_cast<std::int64_t>(result.bytes());
  for (const ValueId input : node.inputs) {
    if (input == no_value) continue;
    const NodeId made_by = graph_.value(input).producer;
    const NodeId producer = made_by >= 0 ? made_by : graph_.value(graph_.root(input)).producer;
    if (producer >= 0) profile.inputs.push_back(graph_.node(producer).name);
  }
  return profile;
}

std::vector<NodeProfile> Plan::profile() const {
  std::vector<NodeProfile> profiles;
  for (std::size_t i = 0; i < steps_.size(); ++i) profiles.push_back(profile_step(i));
  return profiles;
}

std::vector<NodeProfile> Plan::last_run() const {
  std::vector<NodeProfile> profiles;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].phase < last_phases_.first || steps_[i].phase > last_phases_.second) continue;
    profiles.push_back(profile_step(i));
    profiles.back().seconds = steps_[i].last_seconds;
    profiles.back().runs = 1;
  }
  return profiles;
}

std::optional<GuardFinding> Plan::guard_finding() const {
  std::optional<GuardFinding> all;
  for (const Step& step : steps_) {
    join(all, step.kernel->guard_finding());
  }
  return all;
}

}  // namespace ptrain
