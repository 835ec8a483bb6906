#include "core/train/state/starting_state.h"

#include "core/base/errors.h"
#include "core/passes/pipeline.h"
#include "core/runtime/weights.h"

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
  LoadedWeights loaded = load_weights(config.model.weights, model, variables);
  for (const std::string& name : loaded.fresh) {
    observer.on_note(fmt::format("{}: {} is not in it and is newly initialised", config.model.weights, name));
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
