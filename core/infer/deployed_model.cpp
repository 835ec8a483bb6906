#include "core/infer/deployed_model.h"

#include "core/base/errors.h"
#include "core/train/feeder.h"
#include "core/train/state/weights.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

/// The model's variables as its weights file has them.
Variables read_weights(Backend& backend, const Model& model, const std::filesystem::path& path) {
  Variables variables(backend);
  variables.declare(model.build(1, Mode::evaluation));
  variables.allocate();
  const LoadedWeights loaded = load_weights(path, model, variables);
  if (!loaded.fresh.empty())
    fail("{}: has no {} of the shape that {} needs", path.string(), loaded.fresh.front(), model.name());
  return variables;
}

void write(Variables& variables, const std::string& name, std::span<const float> values) {
  variables.write(name, values.data(), values.size_bytes());
}

void write_folded(const FoldedNorm& norm, const Variables& from, Variables& to) {
  std::vector<float> filters = from.read_f32(norm.filters);
  const std::vector<float> gamma = from.read_f32(norm.gamma), beta = from.read_f32(norm.beta),
                           mean = from.read_f32(norm.mean), variance = from.read_f32(norm.variance);
  const std::vector<float> bias = fold_norm({gamma, beta, mean, variance, norm.epsilon}, filters);
  write(to, norm.folded_filters, filters);
  write(to, norm.folded_bias, bias);
}

/// Fills the deployed graph's variables from the model's.
void write_deployed(std::span<const FoldedNorm> folded, const Variables& from, Variables& to) {
  for (const FoldedNorm& norm : folded) write_folded(norm, from, to);
  for (const auto& [name, entry] : to.entries()) {
    if (from.contains(name)) write(to, name, from.read_f32(name));
  }
  refresh_low_precision(to, LowCopies::all);
}

}  // namespace

DeployedModel::DeployedModel(Backend& backend, const Model& model, const std::filesystem::path& weights,
                             const DeployOptions& options)
    : backend_(backend), model_(model), options_(options), variables_(backend) {
  const Variables trained = read_weights(backend, model, weights);
  PlanSet& plans = plans_of(options.batch_size);
  const Plan& largest = plans.largest();
  classes_ = largest.graph().desc(largest.graph().find_output(model_io::logits)).shape[-1];
  variables_.allocate();
  write_deployed(folded_, trained, variables_);
  memory_.emplace(backend, plans.arena_bytes(), plans.workspace_bytes());
  plans.bind(*memory_);
}

PlanSet& DeployedModel::plans_of(std::int64_t rows) {
  if (const auto found = plans_.find(rows); found != plans_.end()) return found->second;
  PlanOptions plan;
  plan.kernels = options_.kernels;
  plan.kernels.constant_weights = true;
  PlanSet::Shapes shapes;
  shapes.capacity = [this, rows](std::int64_t tokens) { return model_.token_capacity(rows, tokens); };
  shapes.build = [this, rows](std::int64_t tokens) { return build({rows, tokens}); };
  const auto most_tokens = rows * options_.max_length;
  PlanSet& made = plans_.try_emplace(rows, shapes, most_tokens, backend_, variables_, plan).first->second;
  if (memory_) made.bind(*memory_);
  return made;
}

Graph DeployedModel::build(const BatchShape& shape) {
  PipelineOptions options;
  options.amp = options_.amp;
  DeployedGraph deployed = build_deployed_graph(model_.build(shape, Mode::evaluation), model_io::logits, options,
                                                backend_.convolution_epilogue());
  folded_ = std::move(deployed.folded);
  return std::move(deployed.graph);
}

std::vector<float> DeployedModel::run(const Batch& batch) {
  const auto rows = static_cast<std::int64_t>(batch.labels.size());
  invariant(rows <= options_.batch_size, "a deployed model's batch has more rows than it was made for");
  Plan& plan = plans_of(rows).for_batch(batch).plan;
  feed(plan, batch, batch.count);
  plan.run(Phase::forward, Phase::forward);
  return read_logits(plan);
}

double DeployedModel::compile_seconds() const {
  double sum = 0;
  for (const auto& [rows, plans] : plans_) sum += plans.compile_seconds();
  return sum;
}

void require_finite(std::span<const float> logits, const std::string& input) {
  const bool finite = std::all_of(logits.begin(), logits.end(), [](float value) { return std::isfinite(value); });
  if (!finite) fail("{}: the model's logits are not finite (in a low precision, --amp O0 may hold them)", input);
}

std::vector<float> softmax(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  std::vector<float> probabilities;
  double sum = 0;
  for (const float logit : logits) {
    probabilities.push_back(std::exp(logit - most));
    sum += static_cast<double>(probabilities.back());
  }
  for (float& value : probabilities) value = static_cast<float>(static_cast<double>(value) / sum);
  return probabilities;
}

}  // namespace ptrain
