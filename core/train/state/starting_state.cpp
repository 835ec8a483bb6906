#include "core/train/state/starting_state.h"

#include "core/base/errors.h"
#include "core/passes/pipeline.h"
#include "core/runtime/adapter.h"
#include "core/runtime/weights.h"
#include "core/train/state/whole_state.h"

#include <fmt/ranges.h>

#include <array>
#include <cmath>

namespace ptrain {
namespace {

/// Returns the tensors that have no trained values.
std::vector<std::string> initialize(const Config& config, const Model& model, Variables& variables,
                                    TrainObserver& observer) {
  const auto seed = static_cast<std::uint64_t>(config.seed);
  if (variables.contains(loss_scale_state)) {
    const std::array<float, LossScaleState::size> state{static_cast<float>(config.amp.scaler.init)};
    variables.write(loss_scale_state, state.data(), sizeof state);
  }
  if (config.model.weights.empty()) {
    initialize_variables(model, variables, seed);
    return {"any tensor"};
  }
  LoadedWeights loaded = load_weights(config.model.weights, model, variables,
                                      config.model.weights_strict ? LeftOver::refused : LeftOver::allowed, seed);
  const auto note = [&](const std::string& text) {
    observer.on_note(fmt::format("{}: {}", config.model.weights, text));
  };
  if (!loaded.prefix.empty()) note(fmt::format("its names have the prefix {}, which is taken off", loaded.prefix));
  if (!loaded.fresh.empty()) {
    note(fmt::format("newly initialised, since it lacks them or has other classes: {}", fmt::join(loaded.fresh, ", ")));
  }
  if (!loaded.unused.empty()) note("not used: " + name_some(loaded.unused));
  if (!loaded.variant.empty() && loaded.variant != model.variant()) {
    note(fmt::format("weights of {} with {}; this one has {}", model.name(), loaded.variant,
                     model.variant().empty() ? "the published form" : model.variant()));
  }
  if (!config.model.lora.weights.empty()) load_adapter(config.model.lora.weights, model, variables);
  return std::move(loaded.fresh);
}

void note_trained_parameters(const Model& model, TrainObserver& observer) {
  std::int64_t adapted = 0, all = 0;
  for (const WeightMapping& mapping : model.weights()) {
    if (is_running_statistic(mapping.variable)) continue;
    all += mapping.external_shape.count();
    if (mapping.part == WeightMapping::Part::adapter) adapted += mapping.external_shape.count();
  }
  if (adapted == 0) return;
  observer.on_note(fmt::format("model.lora: trains {} of {} parameters ({:.2f} %)", adapted, all,
                               100 * static_cast<double>(adapted) / static_cast<double>(all)));
}

void copy_f32(Variables& variables, std::string_view from, const std::string& to) {
  const std::vector<float> values = variables.read_f32(from);
  variables.write(to, values.data(), values.size() * sizeof(float));
}

/// Moving averages start as a copy of the parameters and running statistics.
void begin_average(Variables& variables) {
  if (!variables.contains(flat::average)) return;
  copy_f32(variables, flat::master, flat::average);
  for (const auto& [of, average] : find_averages(variables)) copy_f32(variables, of, average);
}

/// Gives every rank the main rank's target, if that was reached.
void share(std::optional<TargetReport>& reached, const TrainConfig& train, const Ranks& ranks) {
  const TargetReport mine = reached.value_or(TargetReport{});
  std::array<double, 4> values{reached ? 1.0 : 0.0, mine.seconds.value_or(0), static_cast<double>(mine.step),
                               mine.epochs};
  ranks.broadcast(values);
  const auto [known, seconds, step, epochs] = values;
  if (known == 0 || reached) return;
  reached = TargetReport{train.target_metric, train.target, seconds, std::llround(step), epochs};
}

}  // namespace

StartingPoint set_up_start(const Config& config, const Model& model, const Checkpoints& checkpoints, const Ranks& ranks,
                           Variables& variables, TrainObserver& observer) {
  ranks.note("setting up", 0);
  StartingPoint start;
  WholeState whole(model, variables, ranks, make_shard(config.dist, ranks));
  if (ranks.is_main()) {
    if (config.output.save && !model.variant().empty()) {
      observer.on_note(
          fmt::format("{}: {}; other libraries load its weights into the published network, which lacks it",
                      model.name(), model.variant()));
    }
    note_trained_parameters(model, observer);
    start = checkpoints.restore(variables, observer);
    if (start.resumed_from.empty()) {
      start.untrained = initialize(config, model, variables, observer);
      begin_average(variables);
    }
  }
  std::array<double, 2> shared{static_cast<double>(start.first_step), start.first_loss.value_or(0.0)};
  ranks.broadcast(shared);
  share(start.reached, config.train, ranks);
  ranks.broadcast(start.best);
  whole.scatter();
  ranks.broadcast(variables, whole.names());
  start.first_step = static_cast<std::int64_t>(shared[0]);
  if (start.first_step > 0) start.first_loss = shared[1];
  return start;
}

}  // namespace ptrain
