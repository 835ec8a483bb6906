#include "core/ops/training/loss_scale_update.h"

#include <fmt/format.h>

namespace ptrain {

std::string LossScaleUpdate::attributes() const {
  return fmt::format("dynamic={} incr_ratio={} decr_ratio={} incr_every={} decr_every={}", attributes_.dynamic,
                     attributes_.incr_ratio, attributes_.decr_ratio, attributes_.incr_every_n_steps,
                     attributes_.decr_every_n_nan_or_inf);
}

std::vector<TensorDesc> LossScaleUpdate::infer(std::span<const TensorDesc>) const { return {}; }

}  // namespace ptrain
