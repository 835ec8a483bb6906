// Muon (Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks") as torch.optim.Muon defines it:
// momentum on a weight [rows, columns], made nearly orthogonal by the Newton-Schulz iteration. Each backend computes
// the matrix products between these steps. PyTorch rounds them to bf16; here they are fp32.
#pragma once

#include "core/ops/math/optimizer_math.h"

namespace ptrain {

/// The quintic X <- a X + (b G + c G^2) X of the Gram matrix G = X X^T, and the number of iterations.
struct NewtonSchulz {
  static constexpr int steps = 5;
  static constexpr float a = 3.4445f, b = -4.7750f, c = 2.0315f;
  static constexpr float least_norm = 1e-7f;
};

/// m += (1 - momentum) (g - m); the direction is m, or with Nesterov's momentum g + momentum (m - g).
PTRAIN_HD inline float muon_momentum(float gradient, float& m, float momentum, bool nesterov) {
  m += (1.0f - momentum) * (gradient - m);
  return nesterov ? gradient + momentum * (m - gradient) : m;
}

/// The factor that scales a direction to norm 1, from the sum of its squares.
PTRAIN_HD inline float muon_unit_factor(double squares) {
  const double norm = sqrt(squares), least = static_cast<double>(NewtonSchulz::least_norm);
  return static_cast<float>(1.0 / (norm > least ? norm : least));
}

/// The learning rate of the orthogonal direction: original, lr sqrt(max(1, rows / columns)) (Jordan); match_rms_adamw,
/// 0.2 lr sqrt(max(rows, columns)), which matches the size of AdamW's steps (Liu et al. 2025, "Muon is Scalable for LLM
/// Training").
PTRAIN_HD inline float muon_rate(MuonScale scale, float lr, long long rows, long long columns) {
  const double tall = static_cast<double>(rows) / static_cast<double>(columns);
  const auto longest = static_cast<double>(rows > columns ? rows : columns);
  const double factor = scale == MuonScale::original ? sqrt(tall > 1.0 ? tall : 1.0) : 0.2 * sqrt(longest);
  return static_cast<float>(static_cast<double>(lr) * factor);
}

}  // namespace ptrain
