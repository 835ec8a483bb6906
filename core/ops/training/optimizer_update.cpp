#include "core/ops/training/optimizer_update.h"

#include <fmt/format.h>

#include <stdexcept>

namespace ptrain {

int moment_count(OptimizerKind kind, float momentum) {
  switch (kind) {
    case OptimizerKind::adamw:
    case OptimizerKind::lamb:
      return 2;
    case OptimizerKind::sgd:
      return 0;
    case OptimizerKind::momentum:
    case OptimizerKind::lars:
      return momentum == 0.0f ? 0 : 1;
  }
  throw std::logic_error("internal error: unknown optimizer");
}

std::string OptimizerUpdate::attributes() const {
  return fmt::format("{} parameters={} weight_decay={} clip_norm={}", choice_name(settings_.kind), segments_.size(),
                     settings_.weight_decay, settings_.clip_norm);
}

std::vector<TensorDesc> OptimizerUpdate::infer(std::span<const TensorDesc> inputs) const {
  if (inputs.size() != count) throw std::invalid_argument("wrong number of inputs");
  return {};
}

Cost OptimizerUpdate::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  Cost cost{0, traffic(inputs, outputs)};
  const double parameters = static_cast<double>(inputs[master].count());
  const bool adam = !is_absent(inputs[moment2]);
  cost.flops = parameters * (adam ? 14 : 6);
  for (const int state : {master, moment1, moment2}) {
    cost.bytes += static_cast<double>(inputs[static_cast<std::size_t>(state)].bytes());  // read and written
  }
  return cost;
}

}  // namespace ptrain
