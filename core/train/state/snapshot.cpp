#include "core/train/state/snapshot.h"

#include "core/base/errors.h"
#include "core/model/model.h"
#include "core/passes/grad_allreduce.h"
#include "core/passes/optimizer.h"
#include "core/runtime/dynamic_table.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ptrain {
namespace {

/// Every step recomputes gradients; views are saved with their base. Running statistics are saved one by one, whether
/// they share one buffer (several ranks) or not, so that any number of ranks can resume.
bool is_saved(const std::string& name, const Variables::Entry& entry) {
  const bool is_part = is_shard(name) || is_rest(name);  // the whole is saved
  if (is_of_a_step(name) || name == flat::statistics || is_part) return false;
  if (name == row_index::slots) return false;  // filled from the keys
  return !entry.view || is_running_statistic(name);
}

/// Whether a tensor has a row for each of a sparse table's, of which a step changes few.
bool is_of_rows(std::string_view name) {
  const bool is_moment = std::ranges::any_of(
      flat::all_moments, [&](const char* moment) { return name.starts_with(fmt::format("{}.", moment)); });
  return is_moment || name.starts_with(flat::table) || name == row_index::keys || name == row_index::scores;
}

/// Checkpoints of before running statistics had averages stand in with the statistics.
std::optional<SavedTensor> find_saved(const Checkpoint& checkpoint, std::string_view name) {
  std::optional<SavedTensor> tensor = checkpoint.find_saved(name);
  if (tensor || !name.starts_with(flat::average_of)) return tensor;
  return checkpoint.find_saved(name.substr(flat::average_of.size()));
}

void require_fit(const Checkpoint& checkpoint, const std::string& model, const Variables& variables) {
  const CheckpointInfo& info = checkpoint.info();
  if (info.model != model) {
    fail("{}: is a checkpoint of \"{}\", but this run trains \"{}\"", checkpoint.path().string(), info.model, model);
  }
  if (variables.contains(flat::low) && info.state.value("layout", 1) != flat_layout) {
    fail(
        "{}: is of another version of ptrain, which orders parameters with low-precision copies otherwise; start again "
        "from weights that it exported (-o model.weights=FILE, without --resume)",
        checkpoint.path().string());
  }
}

/// The variable's tensor; throws unless there is one of its type and shape.
SavedTensor require_saved(const Checkpoint& checkpoint, const Variables& variables, const std::string& name) {
  const std::string file = checkpoint.path().string();
  const std::optional<SavedTensor> tensor = find_saved(checkpoint, name);
  if (!tensor)
    fail(
        "{}: has no {}: it was made with another optimizer, AMP level, train.ema_decay, model.lora.base, "
        "model.admit_after or train.tables",
        file, name);
  const TensorDesc expected = variables.at(name).desc, found{tensor->dtype, tensor->shape};
  if (name == row_index::seen && found.dtype == DType::u8 && found.count() > 0) return *tensor;  // of any number
  if (found != expected) fail("{}: {} is {}, expected {}", file, name, found.to_string(), expected.to_string());
  return *tensor;
}

/// Whether the variable holds values of the model, not of the optimizer, in full precision.
bool is_averaged(const std::string& name, const Variables::Entry& entry) {
  if (!is_saved(name, entry) || entry.desc.dtype != DType::f32) return false;
  return name == flat::master || name.starts_with(flat::table) || entry.storage == Storage::parameter ||
         is_running_statistic(name);
}

/// The means of `count` elements of tensors of f32, from element `first` on.
std::vector<float> average(std::span<const SavedTensor> tensors, std::size_t first, std::size_t count) {
  std::vector<float> mean(count);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (const SavedTensor& tensor : tensors) {
      float value = 0;
      std::memcpy(&value, tensor.bytes.data() + (first + i) * sizeof(float), sizeof value);
      sum += double{value};
    }
    mean[i] = static_cast<float>(sum / static_cast<double>(tensors.size()));
  }
  return mean;
}

}  // namespace

std::filesystem::path save_snapshot(const std::filesystem::path& directory, const CheckpointInfo& info,
                                    const Variables& variables, int keep, IncrementalCheckpoints& saver) {
  std::vector<std::vector<std::byte>> storage;
  std::vector<NamedTensor> tensors;
  for (const auto& [name, entry] : variables.entries()) {
    if (!is_saved(name, entry)) continue;
    storage.emplace_back();
    tensors.push_back({name, entry.desc.dtype, entry.desc.shape, variables.host_bytes(name, storage.back())});
  }
  return saver.save(directory, info, tensors, keep, is_of_rows);
}

namespace {

/// Reads how many rows of a dynamic table are in use.
void restore_row_counts(const Checkpoint& checkpoint, const Variables& variables) {
  const SavedTensor saved = require_saved(checkpoint, variables, row_index::counts);
  std::array<std::int64_t, RowIndex::counts_size> counts{};
  std::memcpy(counts.data(), saved.bytes.data(), sizeof counts);
  const bool is_sound = counts[RowIndex::freed] >= 0 && counts[RowIndex::freed] <= counts[RowIndex::rows];
  if (!is_sound) fail("{}: {}: damaged", checkpoint.path().string(), row_index::counts);
  set_row_count(variables, counts[RowIndex::rows], checkpoint.path().string());
  std::ranges::copy(counts, get_row_counts(variables).begin());
}

}  // namespace

void restore_snapshot(const Checkpoint& checkpoint, const Model& model, Variables& variables) {
  require_fit(checkpoint, model.signature(), variables);
  const bool is_dynamic = has_row_index(variables);
  if (is_dynamic) restore_row_counts(checkpoint, variables);
  const RowsInUse rows_in_use(model, variables);
  for (const auto& [name, entry] : variables.entries()) {
    if (is_saved(name, entry)) require_saved(checkpoint, variables, name);
  }
  for (const auto& [name, entry] : variables.entries()) {
    if (!is_saved(name, entry)) continue;
    const SavedTensor tensor = require_saved(checkpoint, variables, name);
    if (name == row_index::seen) {
      write_row_counters(variables, tensor.bytes);
      continue;
    }
    variables.write_part(name, 0, tensor.bytes);
    for (const auto& [begin, bytes] : tensor.changed) variables.write_part(name, begin, bytes);
  }
  if (is_dynamic) get_row_index(variables).rebuild();
  checkpoint.check();
}

void average_snapshots(std::span<const Checkpoint> checkpoints, const std::string& model, Variables& variables) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  for (const Checkpoint& checkpoint : checkpoints) {
    require_fit(checkpoint, model, variables);
    if (checkpoint.info().base) {
      fail("{}: holds the changes since another checkpoint alone (output.whole_checkpoint_every): it is not averaged",
           checkpoint.path().string());
    }
  }
  for (const auto& [name, entry] : variables.entries()) {
    if (!is_averaged(name, entry)) continue;
    std::vector<SavedTensor> tensors;
    for (const Checkpoint& checkpoint : checkpoints) tensors.push_back(require_saved(checkpoint, variables, name));
    const auto count = static_cast<std::size_t>(entry.desc.count());
    for (std::size_t first = 0; first < count; first += at_once) {
      const std::vector<float> mean = average(tensors, first, std::min(at_once, count - first));
      variables.write_part(name, first * sizeof(float), std::as_bytes(std::span(mean)));
    }
  }
  for (const Checkpoint& checkpoint : checkpoints) checkpoint.check();
}

}  // namespace ptrain
