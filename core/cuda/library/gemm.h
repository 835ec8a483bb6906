// Matrix products through cuBLASLt: the heuristic's first algorithm, or the fastest of many (exhaustive search).
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/kernel.h"

#include <memory>

namespace ptrain::cuda {

/// Operations on a product before it is written, or computed in addition to it.
enum class Epilogue {
  none,
  bias,                // + bias[columns]
  gelu_tanh_bias,      // gelu(. + bias[columns]), the tanh form
  gelu_tanh_aux_bias,  // the same; `extra` receives the value before the gelu
  left_sums,           // bias[rows] receives the sums of left over the inner axis
  gelu_tanh_grad,      // * the derivative of the tanh gelu at `extra`
  gelu_tanh_grad_sums  // the same; bias[columns] receives the sums of out over its rows
};

/// An operand in 8 bits: e4m3 has 3 bits of mantissa and reaches 448, e5m2 has 2 and reaches 57,344.
enum class Fp8 { none, e4m3, e5m2 };

/// Row-major dense matrices in batches: out[rows,columns] = factor left right, summed in f32.
struct MatrixProduct {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  bool left_transposed = false;   // left is stored as [inner,rows] instead of [rows,inner]
  bool right_transposed = false;  // right is stored as [columns,inner] instead of [inner,columns]
  DType in = DType::f32;          // of left and right, unless they are in FP8
  Fp8 left_fp8 = Fp8::none;       // both or neither
  Fp8 right_fp8 = Fp8::none;
  DType out = DType::f32;  // of out, bias and extra
  std::int64_t batch = 1;
  bool is_slice = false;  // operands lie one behind the other like those of a batch, but are multiplied in turn
  float factor = 1;
  bool adds = false;  // to what out holds
  Epilogue epilogue = Epilogue::none;
};

class Gemm {
 public:
  /// Null when cuBLASLt has no algorithm for it.
  static std::unique_ptr<Gemm> make(const KernelContext& context, Device& device, const MatrixProduct& product);
  /// The same for products that cuBLASLt always supports (no epilogue). Throws Error{failed} when it does not.
  static std::unique_ptr<Gemm> make_plain(const KernelContext& context, Device& device, const MatrixProduct& product);
  struct Parts;
  explicit Gemm(std::unique_ptr<Parts> parts);  // for make()
  ~Gemm();

  std::size_t workspace_bytes() const;
  /// "cublaslt:algo66 tile20 stages36", after "fp8 " where the operands are
  std::string implementation() const;

  struct Operands {
    const void* left = nullptr;
    const void* right = nullptr;
    void* out = nullptr;
    void* bias = nullptr;
    void* extra = nullptr;              // [rows,columns]
    const float* left_scale = nullptr;  // factors of operands in FP8, on the device
    const float* right_scale = nullptr;
  };
  void run(const Operands& operands, void* workspace);

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace ptrain::cuda
