#include "core/ops/sequence/recurrent.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

std::string_view name_cell(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::gru:
      return "gru";
    case RecurrentCell::gru_reset_first:
      return "gru_reset_first";
    case RecurrentCell::lstm:
      break;
  }
  return "lstm";
}

/// How many values per unit a step saves: the gates, and for `gru` what the state contributed to the candidate.
std::int64_t count_saved(RecurrentCell cell) { return cell == RecurrentCell::gru ? 4 : count_gates(cell); }

struct Extent {
  std::int64_t steps, sequences, units;

  TensorDesc of_steps(std::int64_t values) const { return {DType::f32, Shape{steps, sequences, values * units}}; }
  TensorDesc of_state() const { return {DType::f32, Shape{sequences, units}}; }
};

void require_optional(std::span<const TensorDesc> inputs, int index, const TensorDesc& expected, const char* what) {
  if (has_input(inputs, index)) require_desc(inputs[static_cast<std::size_t>(index)], expected, what);
}

/// Checks the inputs `lengths` and `starts`, at these indices.
void require_bounds(std::span<const TensorDesc> inputs, int lengths, int starts, const Extent& extent, bool reverse) {
  require_optional(inputs, lengths, {DType::i32, Shape{extent.sequences}}, "lengths");
  require_optional(inputs, starts, {DType::i32, Shape{extent.steps, extent.sequences}}, "starts");
  require(!reverse || !has_input(inputs, starts), "starts: not with steps in reverse");
}

double count_flops(const TensorDesc& gates, std::int64_t units) {
  return 2.0 * static_cast<double>(gates.count()) * static_cast<double>(units);
}

}  // namespace

std::int64_t count_gates(RecurrentCell cell) { return cell == RecurrentCell::lstm ? 4 : 3; }

std::string Recurrent::attributes() const {
  return fmt::format("cell={}{}{}", name_cell(attributes_.cell), attributes_.reverse ? " reverse" : "",
                     attributes_.carry ? " carry" : "");
}

std::vector<TensorDesc> Recurrent::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 8);
  const bool lstm = attributes_.cell == RecurrentCell::lstm;
  const std::int64_t rows = count_gates(attributes_.cell);
  const Shape& shape = inputs[gates].shape;
  require(inputs[gates].dtype == DType::f32 && shape.rank() == 3 && shape[2] % rows == 0,
          "gates: expected f32 [T,N,{}*H], got {}", rows, inputs[gates].to_string());
  const Extent extent{shape[0], shape[1], shape[2] / rows};
  require_desc(inputs[weight], {DType::f32, Shape{shape[2], extent.units}}, "weight");
  require_optional(inputs, bias, {DType::f32, Shape{shape[2]}}, "bias");
  require_optional(inputs, state, extent.of_state(), "state");
  require(lstm || !(has_input(inputs, peepholes) || has_input(inputs, cell)), "peepholes and cell: only of an LSTM");
  require_optional(inputs, peepholes, {DType::f32, Shape{3 * extent.units}}, "peepholes");
  require_optional(inputs, cell, extent.of_state(), "cell");
  require(!attributes_.carry || (has_input(inputs, state) && (!lstm || has_input(inputs, cell))),
          "carry: expected the state that is carried");
  require_bounds(inputs, lengths, starts, extent, attributes_.reverse);
  std::vector<TensorDesc> outputs{extent.of_steps(1), extent.of_steps(count_saved(attributes_.cell)),
                                  extent.of_steps(1)};
  if (lstm) outputs.insert(outputs.end(), 2, extent.of_steps(1));
  return outputs;
}

void Recurrent::gradient(GradientBuilder& builder) const {
  const bool lstm = attributes_.cell == RecurrentCell::lstm;
  const ValueId of_y = builder.output_gradient(y), of_cells = lstm ? builder.output_gradient(cells) : no_value;
  if (of_y == no_value && of_cells == no_value) return;
  std::vector<ValueId> inputs{of_y,
                              builder.output(saved),
                              builder.output(previous),
                              builder.input(weight),
                              builder.input(peepholes),
                              builder.input(lengths),
                              builder.input(starts)};
  if (lstm) inputs.insert(inputs.end(), {builder.output(cells), builder.output(previous_cells), of_cells});
  using Grad = RecurrentGrad;
  const std::vector<ValueId> gradients = builder.emit(std::make_shared<Grad>(attributes_), std::move(inputs));
  const auto set = [&](int input, Grad::Output gradient) {
    if (builder.input(input) != no_value && builder.needs_gradient(input))
      builder.set_input_gradient(input, gradients[static_cast<std::size_t>(gradient)]);
  };
  set(gates, Grad::dgates);
  set(weight, Grad::dweight);
  set(bias, Grad::dbias);
  set(state, Grad::dstate);
  set(cell, Grad::dcell);
  set(peepholes, Grad::dpeepholes);
}

Cost Recurrent::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_flops(inputs[gates], inputs[weight].shape[1]), traffic(inputs, outputs)};
}

std::vector<TensorDesc> RecurrentGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 4, 10);
  const bool lstm = attributes_.cell == RecurrentCell::lstm;
  const std::int64_t rows = count_gates(attributes_.cell);
  const Shape& shape = inputs[previous].shape;
  require(shape.rank() == 3, "previous: expected [T,N,H], got {}", inputs[previous].to_string());
  const Extent extent{shape[0], shape[1], shape[2]};
  require_desc(inputs[previous], extent.of_steps(1), "previous");
  require_optional(inputs, dy, extent.of_steps(1), "dy");
  require_desc(inputs[saved], extent.of_steps(count_saved(attributes_.cell)), "saved");
  const TensorDesc whole{DType::f32, Shape{rows * extent.units, extent.units}};
  require_desc(inputs[weight], whole, "weight");
  require_bounds(inputs, lengths, starts, extent, attributes_.reverse);
  std::vector<TensorDesc> outputs{extent.of_steps(rows), whole, {DType::f32, Shape{whole.shape[0]}}, extent.of_state()};
  if (!lstm) return outputs;
  require(inputs.size() > previous_cells, "expected the cells");
  require_desc(inputs[cells], extent.of_steps(1), "cells");
  require_desc(inputs[previous_cells], extent.of_steps(1), "previous_cells");
  require_optional(inputs, dcells, extent.of_steps(1), "dcells");
  outputs.push_back(extent.of_state());
  if (has_input(inputs, peepholes)) {
    require_desc(inputs[peepholes], {DType::f32, Shape{3 * extent.units}}, "peepholes");
    outputs.push_back(inputs[peepholes]);
  }
  return outputs;
}

Cost RecurrentGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * count_flops(outputs[dgates], inputs[weight].shape[1]), traffic(inputs, outputs)};
}

}  // namespace ptrain
