// One step of a recurrent layer and its gradient, one unit of one sequence at a time, shared by both backends, which
// compute the matrix products between these functions. Each cell is a struct of static functions of (step, n, j) for
// unit j of sequence n.
#pragma once

#include "core/ops/math/activation_math.h"

#include <cstdint>

namespace ptrain {

/// Which steps of which sequences are padding, and which begin a sequence.
struct RecurrentBounds {
  const std::int32_t* lengths = nullptr;  // [N]; null: no padding
  const std::int32_t* starts = nullptr;   // [N] of this step; null: none begins
  std::int64_t step = 0;

  PTRAIN_HD_INLINE bool is_padding(std::int64_t n) const { return lengths != nullptr && step >= lengths[n]; }
  PTRAIN_HD_INLINE bool is_start(std::int64_t n) const { return starts != nullptr && starts[n] != 0; }
};

/// The tensors of a step; [N,H] unless said otherwise.
struct RecurrentStep {
  std::int64_t units = 0;
  RecurrentBounds bounds;
  const float* gates = nullptr;              // [N,G*H]
  const float* product = nullptr;            // state W^T [N,G*H]; gru_reset_first: without the candidate [N,2*H]
  const float* candidate_product = nullptr;  // gru_reset_first: (r state) W^T
  const float* bias = nullptr;               // [G*H] or null
  const float* peepholes = nullptr;          // [3*H] or null
  const float* last = nullptr;               // the state that the step before left; null: 0
  const float* last_cell = nullptr;          // likewise
  float* previous = nullptr;                 // the state that the step begins with
  float* previous_cell = nullptr;
  float* reset_state = nullptr;  // gru_reset_first: r state
  float* saved = nullptr;        // [N,S*H]
  float* y = nullptr;
  float* cell = nullptr;

  PTRAIN_HD_INLINE float gate(std::int64_t n, std::int64_t k, std::int64_t j, std::int64_t gate_count) const {
    return gates[(n * gate_count + k) * units + j] + (bias == nullptr ? 0.0f : bias[k * units + j]);
  }
};

struct RecurrentGradientStep {
  std::int64_t units = 0;
  RecurrentBounds bounds;
  const float* dy = nullptr;      // null: 0
  const float* dcells = nullptr;  // null: 0
  const float* saved = nullptr;   // [N,S*H]
  const float* previous = nullptr;
  const float* previous_cell = nullptr;
  const float* cell = nullptr;
  const float* peepholes = nullptr;          // [3*H] or null
  const float* product = nullptr;            // gradient of the state through the matrix, from `contribution`
  const float* candidate_product = nullptr;  // gru_reset_first: of r state, from `candidate`
  float* dstate = nullptr;                   // carried from step to step
  float* dcell = nullptr;
  float* dgates = nullptr;        // [N,G*H]
  float* contribution = nullptr;  // of what the state contributed to the gates, [N,P*H]; LSTM: is dgates
  float* candidate = nullptr;     // gru_reset_first: the candidate's part of it
  float* reset_state = nullptr;   // gru_reset_first: r state

  PTRAIN_HD_INLINE float state_gradient(std::int64_t i) const { return dstate[i] + (dy == nullptr ? 0.0f : dy[i]); }
};

/// The logistic function.
PTRAIN_HD_INLINE float squash(float x) { return activate<Activation::sigmoid>(x); }

/// The state that a step begins with.
PTRAIN_HD_INLINE void begin_recurrent_step(const RecurrentStep& s, std::int64_t n, std::int64_t j) {
  const std::int64_t i = n * s.units + j;
  const bool fresh = s.bounds.is_start(n);
  s.previous[i] = fresh || s.last == nullptr ? 0.0f : s.last[i];
  if (s.previous_cell != nullptr) s.previous_cell[i] = fresh || s.last_cell == nullptr ? 0.0f : s.last_cell[i];
}

/// The gradient of the previous step.
PTRAIN_HD_INLINE void end_recurrent_gradient_step(const RecurrentGradientStep& s, std::int64_t n, std::int64_t j) {
  const std::int64_t i = n * s.units + j;
  const bool fresh = s.bounds.is_start(n);
  s.dstate[i] = fresh ? 0.0f : s.dstate[i] + s.product[i];
  if (fresh && s.dcell != nullptr) s.dcell[i] = 0.0f;
}

/// The `gru` and, with `reset_first`, the `gru_reset_first` cell.
template <bool reset_first>
struct GruStep {
  static constexpr int gates = 3, saved = reset_first ? 3 : 4, product_gates = reset_first ? 2 : 3;
  enum Saved { reset, update, candidate, contributed };

  static PTRAIN_HD_INLINE float& at(float* values, const RecurrentStep& s, std::int64_t n, std::int64_t j, int k) {
    return values[(n * saved + k) * s.units + j];
  }
  static PTRAIN_HD_INLINE float squash_gate(const RecurrentStep& s, std::int64_t n, std::int64_t j, int k) {
    return squash(s.gate(n, k, j, gates) + s.product[(n * product_gates + k) * s.units + j]);
  }
  /// The gates, and the state that the reset gate leaves to the candidate's product.
  static PTRAIN_HD_INLINE void open(const RecurrentStep& s, std::int64_t n, std::int64_t j) {
    const std::int64_t i = n * s.units + j;
    const float r = squash_gate(s, n, j, reset);
    at(s.saved, s, n, j, reset) = r;
    at(s.saved, s, n, j, update) = squash_gate(s, n, j, update);
    if constexpr (reset_first) s.reset_state[i] = r * s.previous[i];
  }
  /// The new state.
  static PTRAIN_HD_INLINE void finish(const RecurrentStep& s, std::int64_t n, std::int64_t j) {
    const std::int64_t i = n * s.units + j;
    float c = 0;
    if constexpr (reset_first) {
      c = activate<Activation::tanh>(s.gate(n, candidate, j, gates) + s.candidate_product[i]);
    } else {
      open(s, n, j);
      const float from_state = s.product[(n * gates + candidate) * s.units + j] +
                               (s.bias == nullptr ? 0.0f : s.bias[candidate * s.units + j]);
      const float from_input = s.gates[(n * gates + candidate) * s.units + j];
      c = activate<Activation::tanh>(from_input + at(s.saved, s, n, j, reset) * from_state);
      at(s.saved, s, n, j, contributed) = from_state;
    }
    at(s.saved, s, n, j, candidate) = c;
    const float z = at(s.saved, s, n, j, update);
    s.y[i] = s.bounds.is_padding(n) ? s.previous[i] : (1.0f - z) * c + z * s.previous[i];
  }

  /// Gradients of the gates (with `reset_first`, of all but the reset gate), and the part of the state's that does not
  /// pass the matrix.
  static PTRAIN_HD_INLINE void differentiate(const RecurrentGradientStep& s, std::int64_t n, std::int64_t j) {
    const std::int64_t i = n * s.units + j;
    const bool padding = s.bounds.is_padding(n);
    const float* const values = s.saved + n * saved * s.units + j;
    const float z = values[update * s.units], c = values[candidate * s.units];
    const float d = s.state_gradient(i), kept = padding ? 0.0f : d;
    const float dc = kept * (1.0f - z) * (1.0f - c * c), dz = kept * (s.previous[i] - c) * z * (1.0f - z);
    float* const dgates = s.dgates + n * gates * s.units + j;
    float* const contribution = s.contribution + n * product_gates * s.units + j;
    dgates[update * s.units] = contribution[update * s.units] = dz;
    dgates[candidate * s.units] = dc;
    s.dstate[i] = padding ? d : d * z;
    if constexpr (reset_first) {
      s.candidate[i] = dc;
    } else {
      const float r = values[reset * s.units], dr = dc * values[contributed * s.units] * r * (1.0f - r);
      dgates[reset * s.units] = contribution[reset * s.units] = dr;
      contribution[candidate * s.units] = dc * r;
    }
  }
  /// With `reset_first`: the reset gate's gradient, and what passes it to the state.
  static PTRAIN_HD_INLINE void differentiate_reset(const RecurrentGradientStep& s, std::int64_t n, std::int64_t j) {
    const std::int64_t i = n * s.units + j;
    const float r = s.saved[(n * saved + reset) * s.units + j], d = s.candidate_product[i];
    const float dr = d * s.previous[i] * r * (1.0f - r);
    s.dgates[(n * gates + reset) * s.units + j] = s.contribution[(n * product_gates + reset) * s.units + j] = dr;
    s.dstate[i] += d * r;
    s.reset_state[i] = r * s.previous[i];
  }
};

struct LstmStep {
  static constexpr int gates = 4, saved = 4, product_gates = 4;
  enum Gate { in, forget, candidate, out };
  enum Peephole { in_peephole, forget_peephole, out_peephole };

  static PTRAIN_HD_INLINE void finish(const RecurrentStep& s, std::int64_t n, std::int64_t j) {
    const std::int64_t i = n * s.units + j;
    const auto sum = [&](int k) { return s.gate(n, k, j, gates) + s.product[(n * gates + k) * s.units + j]; };
    const auto peep = [&](int k, float cell) {
      return s.peepholes == nullptr ? 0.0f : s.peepholes[k * s.units + j] * cell;
    };
    const float before = s.previous_cell[i];
    const float a = squash(sum(in) + peep(in_peephole, before)),
                f = squash(sum(forget) + peep(forget_peephole, before));
    const float g = activate<Activation::tanh>(sum(candidate));
    const float cell = f * before + a * g;
    const float o = squash(sum(out) + peep(out_peephole, cell));
    float* const values = s.saved + n * saved * s.units + j;
    values[in * s.units] = a;
    values[forget * s.units] = f;
    values[candidate * s.units] = g;
    values[out * s.units] = o;
    const bool padding = s.bounds.is_padding(n);
    s.cell[i] = padding ? before : cell;
    s.y[i] = padding ? s.previous[i] : o * activate<Activation::tanh>(cell);
  }

  static PTRAIN_HD_INLINE void differentiate(const RecurrentGradientStep& s, std::int64_t n, std::int64_t j) {
    const std::int64_t i = n * s.units + j;
    const bool padding = s.bounds.is_padding(n);
    const float* const values = s.saved + n * saved * s.units + j;
    const float a = values[in * s.units], f = values[forget * s.units], g = values[candidate * s.units],
                o = values[out * s.units];
    const auto peep = [&](int k, float d) { return s.peepholes == nullptr ? 0.0f : s.peepholes[k * s.units + j] * d; };
    const float t = activate<Activation::tanh>(s.cell[i]);
    const float d = s.state_gradient(i), kept = padding ? 0.0f : d;
    const float later = s.dcell[i] + (s.dcells == nullptr ? 0.0f : s.dcells[i]);
    const float d_out = kept * t * o * (1.0f - o);
    const float dcell = padding ? 0.0f : later + d * o * (1.0f - t * t) + peep(out_peephole, d_out);
    const float d_in = dcell * g * a * (1.0f - a), d_forget = dcell * s.previous_cell[i] * f * (1.0f - f);
    float* const dgates = s.dgates + n * gates * s.units + j;
    dgates[in * s.units] = d_in;
    dgates[forget * s.units] = d_forget;
    dgates[candidate * s.units] = dcell * a * (1.0f - g * g);
    dgates[out * s.units] = d_out;
    s.dcell[i] = padding ? later : dcell * f + peep(in_peephole, d_in) + peep(forget_peephole, d_forget);
    s.dstate[i] = padding ? d : 0.0f;
  }

  /// The gradients of unit j's three peepholes, summed over `rows` steps of sequences.
  static PTRAIN_HD_INLINE void sum_peepholes(const float* dgates, const float* previous_cells, const float* cells,
                                             std::int64_t rows, std::int64_t units, std::int64_t j, float* dpeepholes) {
    float sums[3] = {0, 0, 0};
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* const row = dgates + i * gates * units + j;
      sums[in_peephole] += row[in * units] * previous_cells[i * units + j];
      sums[forget_peephole] += row[forget * units] * previous_cells[i * units + j];
      sums[out_peephole] += row[out * units] * cells[i * units + j];
    }
    for (int k = 0; k < 3; ++k) dpeepholes[k * units + j] = sums[k];
  }
};

}  // namespace ptrain
