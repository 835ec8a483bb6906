#include "core/train/state/starting_state.h"

#include "core/base/errors.h"
#include "core/passes/pipeline.h"
#include "core/runtime/weights.h"

#include <fmt/ranges.h>

#include <array>

namespace ptrain {
namespace {

/// Returns the tensors that have no trained values.
std::vector<std::string> initialize(const Config& config, const Model& model, Variables& variables,
                                    TrainObserver& observer) {
  initialize_variables(model, variables, static_cast<std::uint64_t>(config.seed));
  if (variables.contains(loss_scale_state)) {
    const std::array<float, LossScaleState::size> state{static_cast<float>(config.amp.scaler.init)};
    variables.write(loss_scale_state, state.data(), sizeof state);
  }
  if (config.model.weights.empty()) return {"any tensor"};
  LoadedWeights loaded = load_weights(config.model.weights, model, variables,
                                      config.model.weights_strict ? LeftOver::refused : LeftOver::allowed);
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
  return std::move(loaded.fresh);
}

/// The moving average starts as a copy of the parameters.
void begin_average(Variables& variables) {
  if (!variables.contains(flat::average)) return;
  const std::vector<float> start = variables.read_f32(flat::master);
  variables.write(flat::average, start.data(), start.size() * sizeof(float));
}

}  // namespace

StartingPoint set_up_start(const Config& config, const Model& model, const Checkpoints& checkpoints, const Ranks& ranks,
                           Variables& variables, TrainObserver& observer) {
  ranks.note("setting up", 0);
  StartingPoint start;
  if (ranks.is_main()) {
    if (!model.variant().empty()) {
      observer.on_note(
          fmt::format("{}: {}; other libraries load its weights into the published network, which lacks it",
                      model.name(), model.variant()));
    }
    std::vector<std::string> untrained = initialize(config, model, variables, observer);
    start = checkpoints.restore(variables, observer);
    if (start.resumed_from.empty()) {
      start.untrained = std::move(untrained);
      begin_average(variables);
    }
  }
  std::array<double, 2> shared{static_cast<double>(start.first_step), start.first_loss.value_or(0.0)};
  ranks.broadcast(shared);
  ranks.broadcast(start.best);
  ranks.broadcast(variables);
  start.first_step = static_cast<std::int64_t>(shared[0]);
  if (start.first_step > 0) start.first_loss = shared[1];
  return start;
}

}  // namespace ptrain
