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
  PlanOptions plan;
  plan.kernels = options.kernels;
  plan.kernels.constant_weights = true;
  PlanSet::Shapes shapes;
  shapes.capacity = [this](std::int64_t tokens) { return model_.token_capacity(options_.batch_size, tokens); };
  shapes.build = [this](std::int64_t tokens) { return build(tokens); };
  plans_.emplace(shapes, options.batch_size * options.max_length, backend, variables_, plan);
  const Plan& largest = plans_->largest();
  classes_ = largest.graph().desc(largest.graph().find_output(model_io::logits)).shape[-1];
  variables_.allocate();
  write_deployed(folded_, trained, variables_);
  memory_.emplace(backend, plans_->arena_bytes(), plans_->workspace_bytes());
  plans_->bind(*memory_);
}

Graph DeployedModel::build(std::int64_t tokens) {
  PipelineOptions options;
  options.amp = options_.amp;
  DeployedGraph deployed = build_deployed_graph(model_.build({options_.batch_size, tokens}, Mode::evaluation),
                                                model_io::logits, options, backend_.convolution_epilogue());
  folded_ = std::move(deployed.folded);
  return std::move(deployed.graph);
}

std::vector<float> DeployedModel::run(const Batch& batch) {
  Plan& plan = plans_->for_batch(batch).plan;
  feed(plan, batch, batch.count);
  plan.run(Phase::forward, Phase::forward);
  return read_logits(plan);
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
