// The gradient of an activation and of the bias before it, in one pass over memory.
#pragma once

#include "core/graph/tensor_desc.h"
#include "core/ops/activation.h"

namespace ptrain::cpu {

/// dx[r][c] *= the activation's derivative at saved[r][c]; db[c] = the sum over the rows of the new dx[r][c] before it
/// is rounded, in f32 and in an order that does not depend on the number of threads.
class ActivationGradientSums {
 public:
  /// `dx` [..., columns] describes saved too.
  ActivationGradientSums(Activation activation, const TensorDesc& dx, DType db);

  std::size_t workspace_bytes() const;
  void run(const void* saved, void* dx, void* db, void* workspace) const;

 private:
  Activation activation_;
  DType dtype_, db_dtype_;
  std::int64_t rows_, columns_;
};

}  // namespace ptrain::cpu
