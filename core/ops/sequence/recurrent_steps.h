// The course of a recurrent layer and of its gradient through the steps, the same on every backend: a backend's runner
// multiplies matrices, calls a function for every unit, and adds columns. Operands are those of the ops, all fp32.
#pragma once

#include "core/ops/math/recurrent_math.h"
#include "core/ops/sequence/recurrent.h"

#include <span>
#include <vector>

namespace ptrain {

/// Row-major out[rows,columns] = left right; a transposed operand is stored as the transpose of what is multiplied.
struct RecurrentProduct {
  std::int64_t rows, columns, inner;
  bool left_transposed = false, right_transposed = false;
};

struct RecurrentExtent {
  std::int64_t steps, sequences, units;

  explicit RecurrentExtent(const Shape& states) : steps(states[0]), sequences(states[1]), units(states[2]) {}
  std::int64_t rows() const { return steps * sequences; }
  /// Values of a step.
  std::int64_t state() const { return sequences * units; }
};

/// Calls body(Cell{}) with the functions of the cell.
template <typename Body>
void visit_cell(RecurrentCell cell, const Body& body) {
  switch (cell) {
    case RecurrentCell::gru:
      return body(GruStep<false>{});
    case RecurrentCell::gru_reset_first:
      return body(GruStep<true>{});
    case RecurrentCell::lstm:
      return body(LstmStep{});
  }
}

/// Whether the state is reset before the candidate's product, which then is a product of its own.
template <typename Cell>
inline constexpr bool resets_first = Cell::product_gates < Cell::gates;

/// An optional operand; null where it is absent.
template <typename T>
T* optional_operand(std::span<void* const> operands, int index) {
  const auto i = static_cast<std::size_t>(index);
  return i < operands.size() ? static_cast<T*>(operands[i]) : nullptr;
}

/// The values from step `t` on, of `count` a step; null stays null.
template <typename T>
T* at_step(T* values, std::int64_t t, std::int64_t count) {
  return values == nullptr ? nullptr : values + t * count;
}

/// A layer's forward computation. `Runner` has
///   multiply(product, left, right, out): `product` is an index into products();
///   for_units<function>(step): calls function(step, n, j) for every unit j of every sequence n;
///   copy(to, from, count), in floats.
template <typename Cell>
class RecurrentForward {
  using Op = Recurrent;

 public:
  RecurrentForward(const RecurrentAttributes& attributes, const RecurrentExtent& extent)
      : attributes_(attributes), extent_(extent) {}

  enum Product { by_state, by_reset_state };
  std::vector<RecurrentProduct> products() const {
    const std::int64_t n = extent_.sequences, units = extent_.units;
    std::vector<RecurrentProduct> products{{n, Cell::product_gates * units, units, false, true}};
    if (resets_first<Cell>) products.push_back({n, units, units, false, true});
    return products;
  }
  /// Floats: the products of a step, and a reset state.
  std::int64_t workspace_count() const { return extent_.state() * (Cell::gates + (resets_first<Cell> ? 1 : 0)); }

  template <typename Runner>
  void run(Runner& runner, std::span<void* const> inputs, std::span<void* const> outputs, float* workspace) const {
    const std::int64_t state = extent_.state();
    const auto* weight = static_cast<const float*>(inputs[Op::weight]);
    const float* const candidate_weight = weight + Cell::product_gates * extent_.units * extent_.units;
    float* const candidate_products = workspace + Cell::product_gates * state;
    RecurrentStep s;
    s.product = workspace;
    s.candidate_product = candidate_products;
    s.reset_state = candidate_products + state;
    s.last = optional_operand<const float>(inputs, Op::state);
    s.last_cell = optional_operand<const float>(inputs, Op::cell);
    for (std::int64_t k = 0; k < extent_.steps; ++k) {
      set_step(s, attributes_.reverse ? extent_.steps - 1 - k : k, inputs, outputs);
      runner.template for_units<begin_recurrent_step>(s);
      runner.multiply(by_state, s.previous, weight, workspace);
      if constexpr (resets_first<Cell>) {
        runner.template for_units<Cell::open>(s);
        runner.multiply(by_reset_state, s.reset_state, candidate_weight, candidate_products);
      }
      runner.template for_units<Cell::finish>(s);
      s.last = s.y;
      s.last_cell = s.cell;
    }
    if (!attributes_.carry) return;
    runner.copy(static_cast<float*>(inputs[Op::state]), s.last, state);
    if (s.last_cell != nullptr) runner.copy(static_cast<float*>(inputs[Op::cell]), s.last_cell, state);
  }

 private:
  void set_step(RecurrentStep& s, std::int64_t t, std::span<void* const> inputs, std::span<void* const> outputs) const {
    const std::int64_t state = extent_.state();
    s.units = extent_.units;
    s.bounds = {optional_operand<const std::int32_t>(inputs, Op::lengths),
                at_step(optional_operand<const std::int32_t>(inputs, Op::starts), t, extent_.sequences), t};
    s.gates = at_step(static_cast<const float*>(inputs[Op::gates]), t, Cell::gates * state);
    s.bias = optional_operand<const float>(inputs, Op::bias);
    s.peepholes = optional_operand<const float>(inputs, Op::peepholes);
    s.previous = at_step(static_cast<float*>(outputs[Op::previous]), t, state);
    s.previous_cell = at_step(optional_operand<float>(outputs, Op::previous_cells), t, state);
    s.saved = at_step(static_cast<float*>(outputs[Op::saved]), t, Cell::saved * state);
    s.y = at_step(static_cast<float*>(outputs[Op::y]), t, state);
    s.cell = at_step(optional_operand<float>(outputs, Op::cells), t, state);
  }

  RecurrentAttributes attributes_;
  RecurrentExtent extent_;
};

/// Its gradient. `Runner` has also
///   zero(values, count);
///   sum_columns(x, columns, sums): over all steps of all sequences;
///   sum_peepholes(dgates, previous_cells, cells, dpeepholes).
template <typename Cell>
class RecurrentBackward {
  using Op = RecurrentGrad;
  /// For an LSTM, what the state contributed to the gates has the gates' own gradients.
  static constexpr bool has_contribution = Cell::gates == 3;

 public:
  RecurrentBackward(const RecurrentAttributes& attributes, const RecurrentExtent& extent)
      : attributes_(attributes), extent_(extent) {}

  enum Product { to_state, to_weight, to_reset_state, to_candidate_weight };
  std::vector<RecurrentProduct> products() const {
    const std::int64_t n = extent_.sequences, units = extent_.units, rows = extent_.rows();
    constexpr std::int64_t gates = Cell::product_gates;
    std::vector<RecurrentProduct> products{{n, units, gates * units}, {gates * units, units, rows, true}};
    if (resets_first<Cell>) {
      products.push_back({n, units, units});
      products.push_back({units, units, rows, true});
    }
    return products;
  }
  /// Floats: two products of a step; of all steps the contributions and, with a reset state, the candidates and the
  /// reset states.
  std::int64_t workspace_count() const {
    const std::int64_t of_steps = (has_contribution ? Cell::product_gates : 0) + (resets_first<Cell> ? 2 : 0);
    return extent_.state() * (2 + of_steps * extent_.steps);
  }

  template <typename Runner>
  void run(Runner& runner, std::span<void* const> inputs, std::span<void* const> outputs, float* workspace) const {
    const std::int64_t state = extent_.state(), units = extent_.units;
    const Workspace w = divide(workspace, static_cast<float*>(outputs[Op::dgates]));
    const auto* weight = static_cast<const float*>(inputs[Op::weight]);
    const std::int64_t candidate_offset = Cell::product_gates * units * units;
    RecurrentGradientStep s;
    s.dstate = static_cast<float*>(outputs[Op::dstate]);
    s.dcell = optional_operand<float>(outputs, Op::dcell);
    runner.zero(s.dstate, state);
    if (s.dcell != nullptr) runner.zero(s.dcell, state);
    for (std::int64_t k = extent_.steps - 1; k >= 0; --k) {
      set_step(s, attributes_.reverse ? extent_.steps - 1 - k : k, inputs, outputs, w);
      runner.template for_units<Cell::differentiate>(s);
      if constexpr (resets_first<Cell>) {
        runner.multiply(to_reset_state, s.candidate, weight + candidate_offset, w.candidate_product);
        runner.template for_units<Cell::differentiate_reset>(s);
      }
      runner.multiply(to_state, s.contribution, weight, w.product);
      runner.template for_units<end_recurrent_gradient_step>(s);
    }
    auto* dweight = static_cast<float*>(outputs[Op::dweight]);
    auto* dbias = static_cast<float*>(outputs[Op::dbias]);
    runner.multiply(to_weight, w.contribution, static_cast<const float*>(inputs[Op::previous]), dweight);
    runner.sum_columns(w.contribution, Cell::product_gates * units, dbias);
    if constexpr (resets_first<Cell>) {
      runner.multiply(to_candidate_weight, w.candidate, w.reset_state, dweight + candidate_offset);
      runner.sum_columns(w.candidate, units, dbias + Cell::product_gates * units);
    }
    if (auto* const dpeepholes = optional_operand<float>(outputs, Op::dpeepholes)) {
      runner.sum_peepholes(w.contribution, static_cast<const float*>(inputs[Op::previous_cells]),
                           static_cast<const float*>(inputs[Op::cells]), dpeepholes);
    }
  }

 private:
  struct Workspace {
    float *product, *candidate_product;             // of a step
    float *contribution, *candidate, *reset_state;  // of all steps
  };

  /// What is of all steps comes first: its products assume that it is aligned as a whole.
  Workspace divide(float* workspace, float* dgates) const {
    const std::int64_t state = extent_.state(), all = state * extent_.steps;
    float* const candidate = workspace + (has_contribution ? Cell::product_gates * all : 0);
    float* const reset_state = candidate + (resets_first<Cell> ? all : 0);
    float* const product = reset_state + (resets_first<Cell> ? all : 0);
    return {product, product + state, has_contribution ? workspace : dgates, candidate, reset_state};
  }

  void set_step(RecurrentGradientStep& s, std::int64_t t, std::span<void* const> inputs, std::span<void* const> outputs,
                const Workspace& w) const {
    const std::int64_t state = extent_.state();
    const auto input = [&](Op::Input index) { return at_step(optional_operand<const float>(inputs, index), t, state); };
    s.units = extent_.units;
    s.bounds = {optional_operand<const std::int32_t>(inputs, Op::lengths),
                at_step(optional_operand<const std::int32_t>(inputs, Op::starts), t, extent_.sequences), t};
    s.dy = input(Op::dy);
    s.dcells = input(Op::dcells);
    s.saved = at_step(static_cast<const float*>(inputs[Op::saved]), t, Cell::saved * state);
    s.previous = input(Op::previous);
    s.previous_cell = input(Op::previous_cells);
    s.cell = input(Op::cells);
    s.peepholes = optional_operand<const float>(inputs, Op::peepholes);
    s.product = w.product;
    s.candidate_product = w.candidate_product;
    s.dgates = at_step(static_cast<float*>(outputs[Op::dgates]), t, Cell::gates * state);
    s.contribution = at_step(w.contribution, t, Cell::product_gates * state);
    s.candidate = at_step(w.candidate, t, state);
    s.reset_state = at_step(w.reset_state, t, state);
  }

  RecurrentAttributes attributes_;
  RecurrentExtent extent_;
};

}  // namespace ptrain
