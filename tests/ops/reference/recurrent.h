// Naive double-precision recurrent layers.
#pragma once

#include "core/ops/sequence/recurrent.h"

#include "tests/ops/op_case.h"

#include <cmath>

namespace ptrain::testing {

class RecurrentReference {
  using Op = Recurrent;

 public:
  RecurrentReference(const std::vector<HostTensor>& in, const RecurrentAttributes& attributes)
      : in_(in),
        attributes_(attributes),
        steps_(in[Op::gates].desc.shape[0]),
        sequences_(in[Op::gates].desc.shape[1]),
        units_(in[Op::weight].desc.shape[1]),
        gates_(in[Op::gates].desc.shape[2] / units_) {}

  /// y, then what is saved (not checked), then the states before each step; LSTM: cells and those before.
  std::vector<std::vector<double>> compute() {
    const auto all = static_cast<std::size_t>(steps_ * sequences_ * units_);
    std::vector<double> y(all), before(all), cells(all), cells_before(all);
    std::vector<double> state = get_initial(Op::state), cell = get_initial(Op::cell);
    for (std::int64_t k = 0; k < steps_; ++k) {
      const std::int64_t t = attributes_.reverse ? steps_ - 1 - k : k;
      if (has(Op::starts)) reset_started(t, state, cell);
      const auto first = static_cast<std::ptrdiff_t>(t * sequences_ * units_);
      std::copy(state.begin(), state.end(), before.begin() + first);
      std::copy(cell.begin(), cell.end(), cells_before.begin() + first);
      advance(t, state, cell);
      std::copy(state.begin(), state.end(), y.begin() + first);
      std::copy(cell.begin(), cell.end(), cells.begin() + first);
    }
    std::vector<std::vector<double>> outputs{y, {}, before};
    if (attributes_.cell == RecurrentCell::lstm) outputs.insert(outputs.end(), {cells, cells_before});
    return outputs;
  }

 private:
  bool has(std::size_t input) const { return input < in_.size() && !in_[input].absent; }
  double get(std::size_t input, std::int64_t i) const {
    return has(input) ? in_[input].values[static_cast<std::size_t>(i)] : 0.0;
  }
  std::vector<double> get_initial(std::size_t input) const {
    return has(input) ? in_[input].values : std::vector<double>(static_cast<std::size_t>(sequences_ * units_));
  }
  void reset_started(std::int64_t t, std::vector<double>& state, std::vector<double>& cell) const {
    for (std::int64_t n = 0; n < sequences_; ++n) {
      if (get(Op::starts, t * sequences_ + n) == 0) continue;
      for (std::int64_t j = n * units_; j < (n + 1) * units_; ++j)
        state[static_cast<std::size_t>(j)] = cell[static_cast<std::size_t>(j)] = 0;
    }
  }
  static double squash(double x) { return 1 / (1 + std::exp(-x)); }

  double from_input(std::int64_t t, std::int64_t n, std::int64_t k, std::int64_t j) const {
    return get(Op::gates, ((t * sequences_ + n) * gates_ + k) * units_ + j);
  }
  /// What a state contributes to gate k of unit j.
  double from_state(const std::vector<double>& state, std::int64_t n, std::int64_t k, std::int64_t j) const {
    double sum = get(Op::bias, k * units_ + j);
    for (std::int64_t i = 0; i < units_; ++i)
      sum += state[static_cast<std::size_t>(n * units_ + i)] * get(Op::weight, (k * units_ + j) * units_ + i);
    return sum;
  }

  void advance(std::int64_t t, std::vector<double>& state, std::vector<double>& cell) const {
    const std::vector<double> old = state, old_cell = cell;
    for (std::int64_t n = 0; n < sequences_; ++n) {
      if (has(Op::lengths) && t >= static_cast<std::int64_t>(get(Op::lengths, n))) continue;
      std::vector<double> reset_state(old.size());
      for (std::int64_t j = 0; j < units_; ++j) {
        const auto i = static_cast<std::size_t>(n * units_ + j);
        reset_state[i] = squash(from_input(t, n, 0, j) + from_state(old, n, 0, j)) * old[i];
      }
      for (std::int64_t j = 0; j < units_; ++j) {
        const auto i = static_cast<std::size_t>(n * units_ + j);
        const auto gate = [&](std::int64_t k) { return from_input(t, n, k, j) + from_state(old, n, k, j); };
        if (attributes_.cell == RecurrentCell::lstm) {
          const auto peep = [&](std::int64_t k, double c) { return get(Op::peepholes, k * units_ + j) * c; };
          cell[i] = squash(gate(1) + peep(1, old_cell[i])) * old_cell[i] +
                    squash(gate(0) + peep(0, old_cell[i])) * std::tanh(gate(2));
          state[i] = squash(gate(3) + peep(2, cell[i])) * std::tanh(cell[i]);
          continue;
        }
        const double z = squash(gate(1));
        const double candidate = attributes_.cell == RecurrentCell::gru
                                     ? from_input(t, n, 2, j) + squash(gate(0)) * from_state(old, n, 2, j)
                                     : from_input(t, n, 2, j) + from_state(reset_state, n, 2, j);
        state[i] = (1 - z) * std::tanh(candidate) + z * old[i];
      }
    }
  }

  const std::vector<HostTensor>& in_;
  RecurrentAttributes attributes_;
  std::int64_t steps_, sequences_, units_, gates_;
};

}  // namespace ptrain::testing
