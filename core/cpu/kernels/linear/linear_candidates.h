// oneDNN's ways to compute a linear layer and its gradients: matmul, or inner product with plain or packed weights.
#pragma once

#include "core/cpu/onednn/onednn_operation.h"
#include "core/ops/activation.h"

#include <memory>

namespace ptrain::cpu {

using KernelPtr = std::unique_ptr<Kernel>;

/// y [rows, out] = x [rows, in] w^T + bias. dtypes of the tensors as the kernel's caller stores them.
struct LinearProblem {
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  DType x = DType::f32;  // x and dx
  DType w = DType::f32;  // w and dw
  DType y = DType::f32;  // y and dy
  DType bias = DType::f32;
  bool has_bias = false;
  Constancy weights = Constancy::varies;
};

/// Slots: inputs x, w, bias; output `output_slot`, to which `activation` is applied.
std::vector<KernelPtr> linear_candidates(const LinearProblem& problem, Activation activation, int output_slot);
/// Slots: inputs dy, w; output dx.
std::vector<KernelPtr> linear_grad_input_candidates(const LinearProblem& problem);
/// Slots: inputs x, dy; output dw (without bias).
std::vector<KernelPtr> linear_grad_weight_candidates(const LinearProblem& problem);
/// Adds dw to what the output holds. Slots: inputs x, dy; output dw, in f32.
std::vector<KernelPtr> linear_weight_sum_candidates(const LinearProblem& problem);

}  // namespace ptrain::cpu
