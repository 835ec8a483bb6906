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

/// The tensor that a checkpoint has of a variable.
TensorDesc saved_desc(const Variables& variables, const std::string& name) {
  return variables.at(is_shard(name) ? flat::master : name).desc;
}

/// Checkpoints of before running statistics had averages stand in with the statistics.
const NamedTensor* find_saved(const Checkpoint& checkpoint, std::string_view variable) {
  const std::string_view name = whole_name(variable);
  const NamedTensor* const tensor = checkpoint.find(std::string(name));
  if (tensor != nullptr || !name.starts_with(flat::average_of)) return tensor;
  return checkpoint.find(std::string(name.substr(flat::average_of.size())));
}

}  // namespace

std::filesystem::path save_snapshot(const std::filesystem::path& directory, const CheckpointInfo& info,
                                    const Variables& variables, const WholeState& sharded, int keep) {
  std::vector<std::vector<std::byte>> storage;
  std::vector<NamedTensor> tensors;
  for (const auto& [name, entry] : variables.entries()) {
    if (!is_saved(name, entry)) continue;
    storage.emplace_back();
    const TensorDesc desc = saved_desc(variables, name);
    tensors.push_back({std::string(whole_name(name)), desc.dtype, desc.shape,
                       is_shard(name) ? std::as_bytes(std::span(sharded.find(whole_name(name))->second))
                                      : variables.host_bytes(name, storage.back())});
  }
  return save_checkpoint(directory, info, tensors, keep);
}

WholeState restore_snapshot(const Checkpoint& checkpoint, const std::string& model, Variables& variables) {
  const std::string file = checkpoint.path().string();
  if (checkpoint.info().model != model) {
    fail("{}: is a checkpoint of \"{}\", but this run trains \"{}\"", file, checkpoint.info().model, model);
  }
  for (const auto& [name, entry] : variables.entries()) {
    if (!is_saved(name, entry)) continue;
    const NamedTensor* tensor = find_saved(checkpoint, name);
    if (tensor == nullptr)
      fail("{}: has no {}: it was made with another optimizer, AMP level or model.lora.base", file, whole_name(name));
    const TensorDesc expected = saved_desc(variables, name);
    if (TensorDesc{tensor->dtype, tensor->shape} != expected) {
      fail("{}: {} is {}, expected {}", file, tensor->name, TensorDesc{tensor->dtype, tensor->shape}.to_string(),
           expected.to_string());
    }
  }
  WholeState sharded;
  for (const auto& [name, entry] : variables.entries()) {
    if (!is_saved(name, entry)) continue;
    const NamedTensor* tensor = find_saved(checkpoint, name);
    if (is_shard(name)) {
      sharded.emplace(tensor->name, to_floats(*tensor));
    } else {
      variables.write(name, tensor->bytes.data(), tensor->bytes.size());
    }
  }
  checkpoint.check();
  return sharded;
}

}  // namespace ptrain
