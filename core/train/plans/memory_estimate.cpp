#include "core/train/plans/memory_estimate.h"

#include "core/base/errors.h"
#include "core/passes/memory_plan.h"
#include "core/passes/optimizer.h"
#include "core/runtime/dynamic_table.h"
#include "core/train/phases.h"

namespace ptrain {

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const WeightMapping& mapping : model.weights()) {
    if (!is_running_statistic(mapping.variable)) count += mapping.external_shape.count();
  }
  return count;
}

MemoryEstimate estimate_memory(const StepOptions& step, const Model& model, const Bucket& batch,
                               const KernelLibrary& kernels) {
  const Graph graph = build_step(model, step, batch);
  MemoryEstimate estimate;
  std::int64_t largest = 0;
  estimate.arena = plan_memory(graph, step.plan.memory, kernels, step.plan.kernels).arena_bytes;
  const auto in_files = step.table_folder.empty() ? std::set<std::string, std::less<>>() : list_table_variables(model);
  for (const Value& value : graph.values()) {
    const auto bytes = static_cast<std::int64_t>(value.desc.bytes());
    if (value.storage == Storage::input) estimate.inputs += bytes;
    const bool persists = value.storage == Storage::parameter || value.storage == Storage::state;
    if (persists && value.base == no_value) {
      const bool is_in_file = in_files.contains(value.name);
      (is_in_file ? estimate.table_files : estimate.variables) += bytes;
      if (!is_in_file && bytes > largest) {
        largest = bytes;
        estimate.largest_variable = fmt::format("{} {}", value.name, value.desc.to_string());
      }
    }
    if (value.name.starts_with(flat::moments)) estimate.optimizer += bytes;
  }
  return estimate;
}

std::int64_t largest_batch(const StepOptions& step, const Model& model, const Bucket& batch,
                           const KernelLibrary& kernels, std::int64_t bytes) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const auto fits = [&](std::int64_t rows) {
    Bucket bucket = batch;
    bucket.rows = rows;
    return estimate_memory(step, model, bucket, kernels).total() <= bytes;
  };
  // A batch of one may not be trainable: batch statistics of one pixel per channel would be of one value.
  const std::int64_t smallest = std::min<std::int64_t>(2, batch.rows);
  if (!fits(smallest)) return 0;
  std::int64_t low = smallest, high = 2 * smallest;
  while (high <= most && fits(high)) low = high, high *= 2;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

std::int64_t saving_bytes(const DeviceMemory& memory, const Model& model) {
  if (!memory.host_reads_device()) return 0;
  std::int64_t largest = 0;
  for (const ModelVariable& variable : model.variables()) {
    if (variable.is_dynamic) continue;  // of which there may be few rows
    for (const WeightMapping& file : variable.files) largest = std::max(largest, file.external_shape.count());
  }
  return 2 * largest * static_cast<std::int64_t>(sizeof(float));
}

void require_memory(const StepOptions& step, std::span<const TrainingStage> phases, Backend& backend,
                    const Model& model, const Ranks& ranks, std::int64_t workspace) {
  const bool shares_memory = backend.memory().host_reads_device();
  const auto available =
      static_cast<std::int64_t>(backend.memory().available()) / (shares_memory ? ranks.ranks_on_host() : 1);
  for (const TrainingStage& phase : phases) {
    const std::vector<ImageSize> sizes = find_image_sizes(phase);
    const ImageSize size =
        *std::ranges::max_element(sizes, {}, [](const ImageSize& one) { return std::int64_t{one.height} * one.width; });
    const Bucket batch(phase.batch_size, {{extent_names::height, size.height}, {extent_names::width, size.width}});
    const MemoryEstimate estimate = estimate_memory(step, model, batch, backend.kernels());
    const std::int64_t needed = estimate.total() + workspace;
    if (needed <= available) continue;
    const std::int64_t fits = largest_batch(step, model, batch, backend.kernels(), available - workspace);
    const std::string what = phase.is_listed ? fmt::format("train.phases: {}", phase_text(phase))
                                             : fmt::format("data.batch_size: {}", batch.rows);
    throw OutOfMemory(
        fmt::format("{} needs {} MiB by the memory plan, but {} MiB are available{}: {}", what, needed >> 20,
                    available >> 20, ranks.several() ? " per rank" : "",
                    fits > 0 ? fmt::format("{} would fit", fits)
                             : fmt::format("not even a batch of 2 fits: variables need {} MiB, the largest is {}",
                                           estimate.variables >> 20, estimate.largest_variable)));
  }
}

}  // namespace ptrain
