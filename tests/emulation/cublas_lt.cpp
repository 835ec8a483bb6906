// cuBLASLt as far as the backend calls it: column-major products, naive, with some epilogues; of 8 bits as Hopper has
// them.
#include "core/base/dtype.h"
#include "tests/emulation/emulated_stream.h"
#include "tests/emulation/faults.h"
#include "tests/emulation/pointer_checks.h"

#include <cublasLt.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstring>

using ptrain::bf16;
using ptrain::f16;

namespace {

struct Operation {
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  std::int64_t aux_ld = 0;
  const float *a_scale = nullptr, *b_scale = nullptr;
  std::int8_t fast_sums = 0;
};

struct Matrix {
  cudaDataType_t dtype;
  std::int64_t rows, columns, ld;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};

bool is_fp8(cudaDataType_t dtype) { return dtype == CUDA_R_8F_E4M3 || dtype == CUDA_R_8F_E5M2; }

float read_fp8(const void* memory, __nv_fp8_interpretation_t format, std::int64_t at) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<const __nv_fp8_storage_t*>(memory)[at], format)));
}

float read(const void* memory, cudaDataType_t dtype, std::int64_t at) {
  switch (dtype) {
    case CUDA_R_8F_E4M3:
      return read_fp8(memory, __NV_E4M3, at);
    case CUDA_R_8F_E5M2:
      return read_fp8(memory, __NV_E5M2, at);
    case CUDA_R_32F:
      return static_cast<const float*>(memory)[at];
    case CUDA_R_16F:
      return static_cast<float>(static_cast<const f16*>(memory)[at]);
    default:
      return static_cast<float>(static_cast<const bf16*>(memory)[at]);
  }
}

void write(void* memory, cudaDataType_t dtype, std::int64_t at, float value) {
  switch (dtype) {
    case CUDA_R_32F:
      static_cast<float*>(memory)[at] = value;
      break;
    case CUDA_R_16F:
      static_cast<f16*>(memory)[at] = f16(value);
      break;
    default:
      static_cast<bf16*>(memory)[at] = bf16(value);
  }
}

std::size_t get_bytes(cudaDataType_t dtype) { return dtype == CUDA_R_32F ? 4 : is_fp8(dtype) ? 1 : 2; }

/// Matrix `number` of a batch, as [outer][inner] floats.
std::vector<float> dense(const void* memory, const Matrix& m, std::int32_t number, bool inner_is_row) {
  const std::int64_t outer = inner_is_row ? m.columns : m.rows, inner = inner_is_row ? m.rows : m.columns;
  std::vector<float> values(static_cast<std::size_t>(outer * inner));
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      const std::int64_t row = inner_is_row ? i : o, column = inner_is_row ? o : i;
      values[static_cast<std::size_t>(o * inner + i)] = read(memory, m.dtype, number * m.stride + row + column * m.ld);
    }
  return values;
}

float gelu(float x) { return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }
float gelu_slope(float x) {
  const float t = std::tanh(0.7978845608f * (x + 0.044715f * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.7978845608f * (1 + 3 * 0.044715f * x * x);
}

bool is_any_of(cublasLtEpilogue_t epilogue, std::initializer_list<cublasLtEpilogue_t> ones) {
  for (const cublasLtEpilogue_t one : ones) {
    if (epilogue == one) return true;
  }
  return false;
}

/// One element of the product on its way out; `row` and `column` are those of D.
float finish(const Operation& o, const Matrix& d, std::int64_t row, std::int64_t column, float value) {
  const std::int64_t aux = row + column * o.aux_ld;
  if (is_any_of(o.epilogue, {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS})) {
    value += read(o.bias, d.dtype, row);
  }
  if (o.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) write(o.aux, d.dtype, aux, value);
  if (is_any_of(o.epilogue, {CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS})) value = gelu(value);
  if (is_any_of(o.epilogue, {CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU_BGRAD})) {
    value *= gelu_slope(read(o.aux, d.dtype, aux));
  }
  return value;
}

/// d = alpha a b + beta d, the epilogue applied; alpha times the operands' scales.
void multiply(const Operation& o, float alpha, float beta, const void* a_memory, const Matrix& a, const void* b_memory,
              const Matrix& b, void* d_memory, const Matrix& d) {
  const std::int64_t inner = o.a == CUBLAS_OP_T ? a.rows : a.columns;
  if (o.a_scale != nullptr) alpha *= *o.a_scale;
  if (o.b_scale != nullptr) alpha *= *o.b_scale;
  for (std::int32_t number = 0; number < d.batch; ++number) {
    const std::vector<float> left = dense(a_memory, a, number, o.a == CUBLAS_OP_T);
    const std::vector<float> right = dense(b_memory, b, number, o.b == CUBLAS_OP_N);
    std::vector<double> row_sums(static_cast<std::size_t>(d.rows));
    for (std::int64_t column = 0; column < d.columns; ++column)
      for (std::int64_t row = 0; row < d.rows; ++row) {
        const float *x = left.data() + row * inner, *y = right.data() + column * inner;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = 0; i < inner; ++i) sum += x[i] * y[i];
        const std::int64_t at = number * d.stride + row + column * d.ld;
        const float before = beta == 0 ? 0 : beta * read(d_memory, d.dtype, at);
        const float value = finish(o, d, row, column, alpha * sum + before);
        write(d_memory, d.dtype, at, value);
        row_sums[static_cast<std::size_t>(row)] += value;
      }
    if (o.epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD) {
      for (std::int64_t row = 0; row < d.rows; ++row) {
        write(o.bias, d.dtype, row, static_cast<float>(row_sums[static_cast<std::size_t>(row)]));
      }
    }
    if (o.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
      for (std::int64_t column = 0; column < d.columns; ++column) {
        double sum = 0;
        for (std::int64_t i = 0; i < inner; ++i)
          sum += static_cast<double>(right[static_cast<std::size_t>(column * inner + i)]);
        write(o.bias, d.dtype, column, static_cast<float>(sum));
      }
    }
  }
}

/// Operands in 8 bits: A transposed, B not, no two in e5m2, and sizes of whole 16 bytes; of the epilogues a bias alone.
bool is_supported_in_fp8(const Operation& o, const Matrix& a, const Matrix& b, const Matrix& d) {
  return is_fp8(a.dtype) && is_fp8(b.dtype) && (a.dtype == CUDA_R_8F_E4M3 || b.dtype == CUDA_R_8F_E4M3) &&
         o.a == CUBLAS_OP_T && o.b == CUBLAS_OP_N && a.rows % 16 == 0 && d.rows % 16 == 0 &&
         is_any_of(o.epilogue, {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS}) &&
         (o.epilogue == CUBLASLT_EPILOGUE_DEFAULT || d.dtype != CUDA_R_32F);
}

/// cuBLASLt's limits on the second matrix that an epilogue reads or writes, and on operands in 8 bits.
bool is_supported(const Operation& o, const Matrix& a, const Matrix& b, const Matrix& d) {
  if (is_fp8(a.dtype) || is_fp8(b.dtype)) return is_supported_in_fp8(o, a, b, d);
  const bool has_aux =
      is_any_of(o.epilogue, {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU_BGRAD});
  return !has_aux || (o.aux_ld % 8 == 0 && o.aux_ld >= d.rows);
}

constexpr std::size_t workspace = 4096;
constexpr std::uint64_t first_algorithm = 100;

/// The alignment of the operands in bytes that a heuristic was given; 256 by default.
struct Preference {
  std::uint32_t a = 256, b = 256, d = 256;
};

/// An algorithm is for operands of that alignment, and carries it.
cublasLtMatmulAlgo_t algorithm_for(std::uint64_t number, const Preference& aligned) {
  return {{number, aligned.a, aligned.b, aligned.d}};
}

void describe(cublasLtMatmulHeuristicResult_t& result, const cublasLtMatmulAlgo_t& algorithm) {
  result = {};
  result.algo = algorithm;
  result.workspaceSize = workspace;
  result.state = CUBLAS_STATUS_SUCCESS;
}

template <typename Descriptor>
auto* parts(Descriptor descriptor) {
  using Part = std::conditional_t<std::is_same_v<Descriptor, cublasLtMatmulDesc_t>, Operation, Matrix>;
  return reinterpret_cast<Part*>(descriptor);
}

/// As far as its last column, for all of a batch.
void require_matrix(const char* what, const void* memory, const Matrix& m, std::uint64_t alignment) {
  const auto elements = static_cast<std::size_t>((m.batch - 1) * m.stride + (m.columns - 1) * m.ld + m.rows);
  emulation::require_device_memory(what, memory, elements * get_bytes(m.dtype), alignment);
}

void require_epilogue(const Operation& o, const Matrix& d) {
  const auto rows = static_cast<std::size_t>(d.rows), columns = static_cast<std::size_t>(d.columns);
  if (o.bias != nullptr) {
    const bool is_of_b = o.epilogue == CUBLASLT_EPILOGUE_BGRADB;
    emulation::require_device_memory("an epilogue's bias", o.bias, (is_of_b ? columns : rows) * get_bytes(d.dtype), 16);
  }
  if (o.aux != nullptr) {
    const std::size_t elements = (columns - 1) * static_cast<std::size_t>(o.aux_ld) + rows;
    emulation::require_device_memory("an epilogue's matrix", o.aux, elements * get_bytes(d.dtype), 16);
  }
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusString(cublasStatus_t) { return "refused by the emulation"; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t, cudaDataType_t) {
  *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete parts(operation);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  Operation& o = *parts(operation);
  const auto set = [&](auto& member) {
    if (bytes != sizeof member) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&member, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(o.a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(o.b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(o.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(o.bias);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return set(o.aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return set(o.aux_ld);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return set(o.a_scale);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return set(o.b_scale);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return set(o.fast_sums);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matrix, cudaDataType_t dtype, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t ld) {
  *matrix = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Matrix{dtype, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), ld});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matrix) {
  delete parts(matrix);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matrix,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  Matrix& m = *parts(matrix);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof m.batch) {
    std::memcpy(&m.batch, value, bytes);
  } else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof m.stride) {
    std::memcpy(&m.stride, value, bytes);
  } else {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t) {
  auto& aligned = *reinterpret_cast<Preference*>(preference);
  if (attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES) std::memcpy(&aligned.a, value, sizeof aligned.a);
  if (attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES) std::memcpy(&aligned.b, value, sizeof aligned.b);
  if (attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) std::memcpy(&aligned.d, value, sizeof aligned.d);
  return CUBLAS_STATUS_SUCCESS;
}

/// Two algorithms, so that searches have a choice.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  *found = 0;
  if (!is_supported(*parts(operation), *parts(a), *parts(b), *parts(d))) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (; *found < std::min(asked, 2); ++*found) {
    describe(results[*found], algorithm_for(first_algorithm + static_cast<std::uint64_t>(*found),
                                            *reinterpret_cast<const Preference*>(preference)));
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result) {
  if (algorithm->data[0] - first_algorithm > 1) return CUBLAS_STATUS_INVALID_VALUE;
  describe(*result, *algorithm);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                    std::size_t, std::size_t* written) {
  const auto number = static_cast<std::uint32_t>(attribute == CUBLASLT_ALGO_CONFIG_ID ? algorithm->data[0] : 1);
  std::memcpy(value, &number, *written = sizeof number);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_matrix, const void* b, cublasLtMatrixLayout_t b_matrix,
                              const void* beta, const void* c, cublasLtMatrixLayout_t, void* d,
                              cublasLtMatrixLayout_t d_matrix, const cublasLtMatmulAlgo_t* algorithm, void* scratch,
                              std::size_t scratch_bytes, cudaStream_t stream) {
  if (emulation::fails("algorithm " + std::to_string(algorithm->data[0] - first_algorithm))) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (scratch_bytes < workspace) return CUBLAS_STATUS_INVALID_VALUE;
  require_matrix("a matrix A", a, *parts(a_matrix), algorithm->data[1]);
  require_matrix("a matrix B", b, *parts(b_matrix), algorithm->data[2]);
  require_matrix("a matrix D", d, *parts(d_matrix), algorithm->data[3]);
  require_epilogue(*parts(operation), *parts(d_matrix));
  for (const float* scale : {parts(operation)->a_scale, parts(operation)->b_scale}) {
    if (scale != nullptr) emulation::require_device_memory("an operand's scale", scale, sizeof *scale, sizeof *scale);
  }
  emulation::require_device_memory("a product's workspace", scratch, workspace, 16);
  if (c != d) return CUBLAS_STATUS_NOT_SUPPORTED;
  const float factor = *static_cast<const float*>(alpha), kept = *static_cast<const float*>(beta);
  emulation::enqueue(stream,
                     [=, o = *parts(operation), am = *parts(a_matrix), bm = *parts(b_matrix), dm = *parts(d_matrix)] {
                       std::memset(scratch, 0xff, workspace);  // it is the library's to overwrite
                       multiply(o, factor, kept, a, am, b, bm, d, dm);
                     });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
