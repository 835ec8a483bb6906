#include "core/ops/training/seed_gradient.h"

#include <fmt/format.h>

namespace ptrain {

std::string SeedGradient::attributes() const { return fmt::format("factor={}", factor_); }

std::vector<TensorDesc> SeedGradient::infer(std::span<const TensorDesc>) const { return {{DType::f32, Shape{}}}; }

}  // namespace ptrain
