#include "core/tasks/task.h"

#include "core/base/errors.h"
#include "core/config/config.h"
#include "core/data/tensor_names.h"
#include "core/ops/elementwise.h"

#include <memory>

namespace ptrain {
namespace {

const std::string loss_prefix = "loss.";

/// The weighted sum; a single loss of weight 1 is used as it is.
ValueId add_sum(Graph& graph, const std::vector<Loss>& losses) {
  ValueId sum = no_value;
  for (const Loss& loss : losses) {
    ValueId term = loss.value;
    if (loss.weight != 1) {
      term = graph.add(loss_prefix + loss.name + ".weighted", std::make_shared<Scale>(loss.weight), {term});
    }
    sum = sum == no_value ? term : graph.add("loss.with_" + loss.name, std::make_shared<Add>(), {sum, term});
  }
  return sum;
}

}  // namespace

void reject_class_keys(const DataConfig& data, const RejectKey& reject, const std::string& reason) {
  if (!data.labels.empty()) reject("data.labels", reason);
  if (data.class_weights.any()) reject("data.class_weights", reason);
  if (data.sampling == Sampling::balanced) reject("data.sampling", reason);
}

LossGraph build_with_losses(const Model& model, const Task& task, const Bucket& batch, Mode mode) {
  LossGraph built{model.build(batch, mode), {}};
  std::vector<Loss> losses;
  if (task.has_losses(mode)) losses = task.add_losses(built.graph, mode);
  if (mode != Mode::training) task.postprocess(built.graph);
  if (!task.reads_outputs(mode)) built.graph.clear_outputs();
  if (losses.empty()) return built;
  built.graph.set_output(tensor_names::loss, add_sum(built.graph, losses));
  if (losses.size() == 1) return built;
  for (const Loss& loss : losses) {
    built.graph.set_output(loss_term_output(loss.name), loss.value);
    built.terms[loss.name] = loss.weight;
  }
  return built;
}

std::string loss_term_output(const std::string& name) { return loss_prefix + name; }

std::vector<std::string> names_of_outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, value] : graph.outputs()) {
    if (name != tensor_names::loss && !name.starts_with(loss_prefix)) names.push_back(name);
  }
  return names;
}

ValueId require_output(const Graph& graph, std::string_view name) {
  const ValueId value = graph.find_output(name);
  if (value == no_value) throw std::logic_error(fmt::format("internal error: the model has no output {}", name));
  return value;
}

}  // namespace ptrain
