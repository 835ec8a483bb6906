// A product's operands in 8 bits, each with one scale for all of its values ("per-tensor current scaling").
#pragma once

#include "core/cuda/device/device.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/library/gemm.h"

namespace ptrain::cuda {

/// Formats of a product's operands. Gradients have the larger range.
struct Fp8Formats {
  Fp8 left = Fp8::e4m3, right = Fp8::e4m3;
};

/// Rounds operands to 8 bits: y = round(x s), s being the largest factor that leaves the largest |x| in range. Values
/// that are not finite make the whole product not finite.
class Fp8Operands {
 public:
  /// Whether cuBLASLt multiplies matrices of these sizes in 8 bits on a GPU that has them.
  static bool fits(const MatrixProduct& product);
  /// `product`: of 16-bit values; left and right as stored, in these dtypes.
  Fp8Operands(const Device& device, const MatrixProduct& product, DType left, DType right, Fp8Formats formats,
              WorkspaceLayout& layout);

  /// The product of the rounded operands, in the only layout that Hopper's cuBLASLt multiplies: each lies with the
  /// inner axis last.
  MatrixProduct rounded_product() const;
  /// Rounds left and right of `operands`, which point to the rounded ones afterwards.
  void round(Gemm::Operands& operands, void* workspace) const;

 private:
  /// One operand, [rows,columns] as stored.
  struct Matrix {
    DType dtype = DType::f32;
    Fp8 format = Fp8::none;
    std::int64_t rows = 0, columns = 0;
    bool transpose = false;
    WorkspacePart values = {}, largest = {}, scale = {};
  };
  void round(const Matrix& matrix, const void* from, void* workspace) const;

  const Device& device_;
  MatrixProduct product_;
  Matrix left_, right_;
};

}  // namespace ptrain::cuda
