// The update of one weight by Muon (see core/ops/math/muon.h). AdamW updates a model's other parameters.
#pragma once

#include "core/ops/training/optimizer_update.h"

namespace ptrain {

struct MuonUpdateAttributes {
  OptimizerSettings settings;
  ParameterSegment segment;  // the weight's part of the flat buffers
  std::int64_t rows = 0, columns = 0;
};

/// Inputs are OptimizerUpdate's, without a second moment; gradients are flat, or the weight's own. Runs before the
/// step's OptimizerUpdate, which counts the update.
class MuonUpdate final : public OpWith<MuonUpdateAttributes> {
 public:
  using Input = OptimizerUpdate::Input;
  using OpWith::OpWith;

  std::string_view type() const override { return "muon_update"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input >= Input::master; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// The smaller extent of a weight: the side of its Gram matrix.
constexpr std::int64_t gram_side(const MuonUpdateAttributes& a) { return a.rows < a.columns ? a.rows : a.columns; }

}  // namespace ptrain
