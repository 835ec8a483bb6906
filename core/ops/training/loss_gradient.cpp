#include "core/ops/training/loss_gradient.h"

#include <fmt/format.h>

namespace ptrain {

std::string LossGradient::attributes() const { return fmt::format("factor={}", factor_); }

std::vector<TensorDesc> LossGradient::infer(std::span<const TensorDesc>) const { return {{DType::f32, Shape{}}}; }

}  // namespace ptrain
