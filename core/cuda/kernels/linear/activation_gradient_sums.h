// The gradient of an activation and of the bias before it, in one pass over memory.
#pragma once

#include "core/cuda/device/device.h"
#include "core/graph/tensor_desc.h"
#include "core/ops/activation.h"

namespace ptrain::cuda {

/// dx[r][c] *= the activation's derivative at saved[r][c]; db[c] = the sum over the rows of the new dx[r][c] before it
/// is rounded, in f32 and in a fixed order.
class ActivationGradientSums {
 public:
  /// `dx` [..., columns] describes saved too; both are aligned to 16 bytes.
  ActivationGradientSums(const Device& device, Activation activation, const TensorDesc& dx, DType db);

  std::size_t workspace_bytes() const { return static_cast<std::size_t>(parts_ * columns_) * sizeof(float); }
  void run(const void* saved, void* dx, void* db, void* workspace) const;

 private:
  const Device& device_;
  Activation activation_;
  DType dtype_, db_dtype_;
  std::int64_t rows_, columns_;
  std::int64_t parts_;  // each part of the rows is summed by blocks of its own
};

}  // namespace ptrain::cuda
