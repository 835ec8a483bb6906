#include "core/train/state/snapshot.h"

#include "core/base/errors.h"
#include "core/model/model.h"
#include "core/passes/grad_allreduce.h"
#include "core/passes/optimizer.h"

namespace ptrain {
namespace {

/// Every step recomputes gradients; views are saved with their base. Running statistics are saved one by one, whether
/// they share one buffer (several ranks) or not, so that any number of ranks can resume.
bool is_saved(const std::string& name, const Variables::Entry& entry) {
  if (name.starts_with(flat::grad) || name == flat::statistics) return false;
  return !entry.view || is_running_statistic(name);
}

/// Checkpoints of before running statistics had averages stand in with the statistics.
const NamedTensor* find_saved(const Checkpoint& checkpoint, std::string_view name) {
  const NamedTensor* const tensor = checkpoint.find(std::string(name));
  if (tensor != nullptr || !name.starts_with(flat::average_of)) return tensor;
  return checkpoint.find(std::string(name.substr(flat::average_of.size())));
}

}  // namespace

std::filesystem::path save_snapshot(const std::filesystem::path& directory, const CheckpointInfo& info,
                                    const Variables& variables, int keep) {
  std::vector<std::vector<std::byte>> storage;
  std::vector<NamedTensor> tensors;
  for (const auto& [name, entry] : variables.entries()) {
    if (!is_saved(name, entry)) continue;
    storage.emplace_back();
    tensors.push_back({name, entry.desc.dtype, entry.desc.shape, variables.host_bytes(name, storage.back())});
  }
  return save_checkpoint(directory, info, tensors, keep);
}

void restore_snapshot(const Checkpoint& checkpoint, const std::string& model, Variables& variables) {
  const std::string file = checkpoint.path().string();
  if (checkpoint.info().model != model) {
    fail("{}: is a checkpoint of \"{}\", but this run trains \"{}\"", file, checkpoint.info().model, model);
  }
  for (const auto& [name, entry] : variables.entries()) {
    if (!is_saved(name, entry)) continue;
    const NamedTensor* tensor = find_saved(checkpoint, name);
    if (tensor == nullptr) fail("{}: has no {}: it was made with another optimizer or AMP level", file, name);
    if (TensorDesc{tensor->dtype, tensor->shape} != entry.desc) {
      fail("{}: {} is {}, expected {}", file, name, TensorDesc{tensor->dtype, tensor->shape}.to_string(),
           entry.desc.to_string());
    }
  }
  for (const auto& [name, entry] : variables.entries()) {
    if (!is_saved(name, entry)) continue;
    const NamedTensor* tensor = find_saved(checkpoint, name);
    variables.write(name, tensor->bytes.data(), tensor->bytes.size());
  }
  checkpoint.check();
}

}  // namespace ptrain
