// Recurrent layers of one direction, step by step over sequences that all have the same number of steps in memory: GRU
// in PyTorch's form and in the original one, and LSTM with or without peepholes; and their gradients.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

enum class RecurrentCell {
  gru,              // candidate tanh(x + r (W h + b)): cuDNN's, torch.nn.GRU
  gru_reset_first,  // candidate tanh(x + W (r h) + b): Cho et al. 2014, Paddle's dynamic_gru
  lstm              // torch.nn.LSTM; with peepholes, Gers and Schmidhuber 2000
};

/// The gates in the order of their rows: reset, update, candidate; LSTM: input, forget, candidate, output. A GRU's new
/// state is (1 - update) candidate + update state.
std::int64_t count_gates(RecurrentCell cell);

struct RecurrentAttributes {
  RecurrentCell cell = RecurrentCell::gru;
  bool reverse = false;  // from the last step to the first
  bool carry = false;    // the last state replaces the initial one in place, for the batch that follows
};

/// inputs:  gates f32 [T,N,G*H]: what the inputs of each step contribute to the gates, their bias included; weight
///          [G*H,H] and, optional, bias [G*H] of the state's contribution; optional: peepholes [3*H] (LSTM: of the
///          cell to the input, forget and output gate); the initial state [N,H] and cell [N,H] (LSTM; absent: 0);
///          lengths i32 [N]: steps from there on are padding; starts i32 [T,N]: nonzero where a new sequence begins,
///          whose state before is 0 (forward only).
/// outputs: y [T,N,H], the state after each step: of padding, the state that came to it; what the gradient needs: saved
///          [T,N,S*H] and the state before each step, previous [T,N,H]; LSTM: cells and previous_cells [T,N,H]
///          likewise.
class Recurrent final : public OpWith<RecurrentAttributes> {
 public:
  enum Input { gates, weight, bias, peepholes, state, cell, lengths, starts };
  enum Output { y, saved, previous, cells, previous_cells };
  using OpWith::OpWith;

  std::string_view type() const override { return "recurrent"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  bool mutates_input(int input) const override { return attributes_.carry && (input == state || input == cell); }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// inputs:  dy [T,N,H] (optional); saved, previous, weight, peepholes (optional), lengths (optional), starts (optional)
///          as above; LSTM: cells, previous_cells and, optional, dcells [T,N,H].
/// outputs: gradients: dgates [T,N,G*H], dweight [G*H,H], dbias [G*H], dstate [N,H]; LSTM: dcell [N,H] and, with
///          peepholes, dpeepholes [3*H].
class RecurrentGrad final : public OpWith<RecurrentAttributes> {
 public:
  enum Input { dy, saved, previous, weight, peepholes, lengths, starts, cells, previous_cells, dcells };
  enum Output { dgates, dweight, dbias, dstate, dcell, dpeepholes };
  using OpWith::OpWith;

  std::string_view type() const override { return "recurrent_grad"; }
  std::string attributes() const override { return Recurrent(attributes_).attributes(); }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

}  // namespace ptrain
