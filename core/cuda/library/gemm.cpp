#include "core/cuda/library/gemm.h"

#include "core/base/errors.h"
#include "core/cuda/device/check.h"
#include "core/cuda/device/event_timer.h"
#include "core/cuda/library/scratch.h"
#include "core/exec/kernel_timing.h"

#include <cublasLt.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace ptrain::cuda {
namespace {

constexpr std::size_t workspace_limit = std::size_t{32} << 20;  // NVIDIA's recommendation for Hopper
constexpr int candidates_of_a_search = 32;
/// Minimum alignment of operands: parameters are at multiples of 64 elements in their flat buffer.
constexpr std::uint32_t operand_alignment = 128;

cudaDataType_t data_type(DType dtype) {
  invariant(is_floating(dtype), "a product of integers");
  return dtype == DType::f16 ? CUDA_R_16F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

cudaDataType_t data_type(Fp8 format) { return format == Fp8::e5m2 ? CUDA_R_8F_E5M2 : CUDA_R_8F_E4M3; }

cublasLtEpilogue_t library_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::gelu_tanh_bias:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
    case Epilogue::gelu_tanh_aux_bias:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::left_sums:
      return CUBLASLT_EPILOGUE_BGRADB;  // the library's B is left: its view is transposed
    case Epilogue::gelu_tanh_grad:
      return CUBLASLT_EPILOGUE_DGELU;
    case Epilogue::gelu_tanh_grad_sums:
      return CUBLASLT_EPILOGUE_DGELU_BGRAD;
    case Epilogue::none:
      return CUBLASLT_EPILOGUE_DEFAULT;
  }
  throw std::logic_error("internal error: an epilogue that cuBLASLt does not support");
}

bool has_bias(Epilogue epilogue) { return epilogue != Epilogue::none && epilogue != Epilogue::gelu_tanh_grad; }

bool has_extra(Epilogue epilogue) {
  return epilogue == Epilogue::gelu_tanh_aux_bias || epilogue == Epilogue::gelu_tanh_grad ||
         epilogue == Epilogue::gelu_tanh_grad_sums;
}

/// One of cuBLASLt's descriptors, created and destroyed by its own functions.
template <typename Descriptor, cublasStatus_t (*destroy)(Descriptor)>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (descriptor_ != nullptr) destroy(descriptor_);
  }
  Descriptor* receive() { return &descriptor_; }
  Descriptor get() const { return descriptor_; }

 private:
  Descriptor descriptor_ = nullptr;
};
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Matrix = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <typename T>
void set(const Operation& operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value));
}

template <typename T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
}

/// A contiguous column-major matrix.
void describe(Matrix& matrix, cudaDataType_t dtype, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  CUBLAS_CHECK(cublasLtMatrixLayoutCreate(matrix.receive(), dtype, static_cast<std::uint64_t>(rows),
                                          static_cast<std::uint64_t>(columns), rows));
  if (batch == 1) return;
  const auto count = static_cast<std::int32_t>(batch);
  const std::int64_t stride = rows * columns;
  CUBLAS_CHECK(
      cublasLtMatrixLayoutSetAttribute(matrix.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(matrix.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                sizeof stride));
}

/// An algorithm as text for parse(); valid for one version of the library and one kind of GPU.
std::string to_text(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) text += fmt::format("{:016x}", word);
  return text;
}

bool parse(const std::string& text, cublasLtMatmulAlgo_t& algorithm) {
  constexpr std::size_t digits = 16;
  if (text.size() != digits * std::size(algorithm.data)) return false;
  for (std::size_t i = 0; i < std::size(algorithm.data); ++i) {
    unsigned long long word = 0;
    if (std::sscanf(text.substr(i * digits, digits).c_str(), "%16llx", &word) != 1) return false;
    algorithm.data[i] = word;
  }
  return true;
}

std::uint32_t configuration(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  std::uint32_t value = 0;
  std::size_t written = 0;
  cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written);
  return value;
}

/// "cublaslt:algo66 tile20 stages36"
std::string describe_algorithm(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text = fmt::format("cublaslt:algo{} tile{} stages{}", configuration(algorithm, CUBLASLT_ALGO_CONFIG_ID),
                                 configuration(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
                                 configuration(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID));
  const std::uint32_t parts = configuration(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  if (parts > 1) text += fmt::format(" splitk{}", parts);
  return text;
}

}  // namespace

struct Gemm::Parts {
  Device& device;
  MatrixProduct product;
  Operation operation;
  Matrix a, b, d;  // the library's, column-major: right, left and out, each transposed
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
  bool has_run = false;

  Parts(Device& on, const MatrixProduct& what, const KernelOptions& options) : device(on), product(what) {
    const cublasComputeType_t compute =
        what.in == DType::f32 && options.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    CUBLAS_CHECK(cublasLtMatmulDescCreate(operation.receive(), compute, CUDA_R_32F));
    set(operation, CUBLASLT_MATMUL_DESC_TRANSA, what.right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(operation, CUBLASLT_MATMUL_DESC_TRANSB, what.left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, library_epilogue(what.epilogue));
    // Gradients, in e5m2, are summed in f32 throughout; products of e4m3 in what the tensor cores keep, which is
    // faster.
    if (is_fp8() && what.left_fp8 == what.right_fp8) set(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    auto* const any = static_cast<float*>(example_pointer());
    bind({nullptr, nullptr, nullptr, any, any, any, any});
    if (has_extra(what.epilogue)) set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, what.columns);
    describe_operand(a, operand_type(what.right_fp8), what.right_transposed, what.columns);
    describe_operand(b, operand_type(what.left_fp8), !what.left_transposed, what.rows);
    describe(d, data_type(what.out), what.columns, what.rows, what.batch);
  }

  bool is_fp8() const { return product.left_fp8 != Fp8::none; }
  cudaDataType_t operand_type(Fp8 format) const {
    return format == Fp8::none ? data_type(product.in) : data_type(format);
  }
  std::size_t operand_bytes() const { return is_fp8() ? 1 : element_size(product.in); }  // of one element

  /// Row-major [outer,inner] is column-major [inner,outer].
  void describe_operand(Matrix& matrix, cudaDataType_t dtype, bool inner_first, std::int64_t outer) {
    inner_first ? describe(matrix, dtype, product.inner, outer, product.batch)
                : describe(matrix, dtype, outer, product.inner, product.batch);
  }

  /// The heuristic reads the alignment from pointers, before there are any.
  static void* example_pointer() { return reinterpret_cast<void*>(std::uintptr_t{operand_alignment}); }

  void bind(const Operands& operands) {
    if (has_bias(product.epilogue)) set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
    if (has_extra(product.epilogue)) set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.extra);
    if (!is_fp8()) return;
    set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.right_scale);
    set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.left_scale);
  }

  /// Alignment of every matrix of an operand, in bytes; the matrices of a batch, and slices, are contiguous.
  std::uint32_t compute_alignment(std::int64_t elements, std::size_t element_bytes) const {
    if (product.batch == 1 && !product.is_slice) return operand_alignment;
    const std::int64_t bytes = elements * static_cast<std::int64_t>(element_bytes);
    return std::min<std::uint32_t>(operand_alignment, static_cast<std::uint32_t>(bytes & -bytes));
  }

  std::vector<cublasLtMatmulHeuristicResult_t> candidates(int count) const {
    Preference preference;
    CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(preference.receive()));
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_limit});
    // Parts of a sum are combined in f32, in a fixed order.
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    const std::uint32_t out = compute_alignment(product.rows * product.columns, element_size(product.out));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        compute_alignment(product.columns * product.inner, operand_bytes()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        compute_alignment(product.rows * product.inner, operand_bytes()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out);
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(device.cublas_lt(), operation.get(), a.get(), b.get(), d.get(), d.get(),
                                       preference.get(), count, results.data(), &found);
    if (status != CUBLAS_STATUS_SUCCESS) found = 0;  // mostly an epilogue that these layouts do not support
    results.resize(static_cast<std::size_t>(found));
    std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
    return results;
  }

  void use(const cublasLtMatmulHeuristicResult_t& result) {
    algorithm = result.algo;
    workspace_bytes = result.workspaceSize;
  }

  /// Takes the algorithm of an earlier search; false when this library does not know it.
  bool use(const std::string& text) {
    cublasLtMatmulHeuristicResult_t result{};
    cublasLtMatmulAlgo_t known{};
    if (!parse(text, known)) return false;
    if (cublasLtMatmulAlgoCheck(device.cublas_lt(), operation.get(), a.get(), b.get(), d.get(), d.get(), &known,
                                &result) != CUBLAS_STATUS_SUCCESS) {
      return false;
    }
    algorithm = known;
    workspace_bytes = result.workspaceSize;
    return workspace_bytes <= workspace_limit;
  }

  cublasStatus_t launch(const Operands& operands, const cublasLtMatmulAlgo_t& with, void* workspace,
                        std::size_t bytes) const {
    const float beta = product.adds ? 1 : 0;
    return cublasLtMatmul(device.cublas_lt(), operation.get(), &product.factor, operands.right, a.get(), operands.left,
                          b.get(), &beta, operands.out, d.get(), operands.out, d.get(), &with, workspace, bytes,
                          device.stream());
  }

  cublasLtMatmulHeuristicResult_t fastest(const std::vector<cublasLtMatmulHeuristicResult_t>& results) {
    const auto allocate = [&](std::int64_t elements, std::size_t element_bytes, DType values) {
      return ScratchMemory(device, static_cast<std::size_t>(elements * product.batch) * element_bytes, values);
    };
    const std::size_t out_bytes = element_size(product.out);
    const auto left = allocate(product.rows * product.inner, operand_bytes(), product.in);
    const auto right = allocate(product.columns * product.inner, operand_bytes(), product.in);
    const auto out = allocate(product.rows * product.columns, out_bytes, product.out);
    const auto bias = allocate(std::max(product.rows, product.columns), out_bytes, product.out);
    const auto extra = allocate(product.rows * product.columns, out_bytes, product.out);
    const ScratchMemory scale(device, sizeof(float), DType::f32);
    const ScratchMemory workspace(device, workspace_limit, DType::u8);
    auto* const factor = static_cast<const float*>(scale.data());
    const Operands operands{left.data(), right.data(), out.data(), bias.data(), extra.data(), factor, factor};
    bind(operands);
    std::vector<KernelLaunch> launches;
    for (const auto& result : results) {
      launches.push_back([&] { CUBLAS_CHECK(launch(operands, result.algo, workspace.data(), workspace_limit)); });
    }
    EventTimer timer(device);
    return results[find_fastest(timer, launches).value_or(0)];
  }

  /// The algorithm's first run; if it fails, the next that runs within the same workspace replaces it.
  void launch_first(const Operands& operands, void* workspace) {
    cublasStatus_t status = launch(operands, algorithm, workspace, workspace_bytes);
    const std::string failed = to_text(algorithm);
    const auto others = status == CUBLAS_STATUS_SUCCESS ? std::vector<cublasLtMatmulHeuristicResult_t>{}
                                                        : candidates(candidates_of_a_search);
    for (const auto& other : others) {
      if (other.workspaceSize > workspace_bytes || to_text(other.algo) == failed) continue;
      cudaGetLastError();  // clear the failed launch's error for later calls
      if (launch(operands, other.algo, workspace, workspace_bytes) != CUBLAS_STATUS_SUCCESS) continue;
      algorithm = other.algo;
      device.note(fmt::format("cuBLASLt: an algorithm could not be run; {} runs instead: {}",
                              describe_algorithm(algorithm), cublasLtGetStatusString(status)));
      status = CUBLAS_STATUS_SUCCESS;
      break;
    }
    CUBLAS_CHECK(status);
    has_run = true;
  }

  std::string problem(const KernelContext& context) const {
    return fmt::format("{} cublaslt {} {}x{}x{} {}{} x{} {}{}>{} epilogue={} tf32={}{}", describe_problem(context),
                       cublasLtGetVersion(), product.rows, product.columns, product.inner,
                       product.left_transposed ? 't' : 'n', product.right_transposed ? 't' : 'n', product.batch,
                       to_string(product.in), product.adds ? "+" : "", to_string(product.out),
                       static_cast<int>(product.epilogue), context.options.tf32, is_fp8() ? " fp8" : "");
  }

  /// False when there is no algorithm.
  bool choose(const KernelContext& context) {
    const bool search = context.options.exhaustive_search;
    SearchCache* cache = search ? context.search_cache : nullptr;
    const std::string known = cache == nullptr ? std::string{} : cache->find(problem(context));
    if (use(known)) return true;
    const auto results = candidates(search ? candidates_of_a_search : 1);
    if (results.empty()) return false;
    use(search && results.size() > 1 ? fastest(results) : results.front());
    if (cache == nullptr) return true;
    const std::string own = to_text(algorithm), first = cache->store(problem(context), own, known);
    if (first != own && !use(first)) use(own);
    return true;
  }
};

Gemm::Gemm(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Gemm::~Gemm() = default;

std::unique_ptr<Gemm> Gemm::make(const KernelContext& context, Device& device, const MatrixProduct& product) {
  auto parts = std::make_unique<Parts>(device, product, context.options);
  if (!parts->choose(context)) return nullptr;
  return std::make_unique<Gemm>(std::move(parts));
}

std::unique_ptr<Gemm> Gemm::make_plain(const KernelContext& context, Device& device, const MatrixProduct& product) {
  auto gemm = make(context, device, product);
  if (gemm == nullptr) fail("{}: cuBLASLt has no algorithm", describe_problem(context));
  return gemm;
}

std::size_t Gemm::workspace_bytes() const { return parts_->workspace_bytes; }

std::string Gemm::implementation() const {
  return (parts_->is_fp8() ? "fp8 " : "") + describe_algorithm(parts_->algorithm);
}

void Gemm::run(const Operands& operands, void* workspace) {
  parts_->bind(operands);
  if (!parts_->has_run) return parts_->launch_first(operands, workspace);
  CUBLAS_CHECK(parts_->launch(operands, parts_->algorithm, workspace, parts_->workspace_bytes));
}

}  // namespace ptrain::cuda
