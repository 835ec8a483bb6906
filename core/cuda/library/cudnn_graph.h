// A cuDNN operation graph and its execution plans. cudnn-frontend's headers take half a minute to compile, so this
// interface keeps them in one source file.
#pragma once

#include "core/cuda/library/tensor_layout.h"
#include "core/ops/image/conv2d.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

typedef struct cudnnContext* cudnnHandle_t;

namespace ptrain::cuda {

/// The GPU that plans are made for: a present one, or one that is only described.
class CudnnTarget {
 public:
  explicit CudnnTarget(cudnnHandle_t handle) : handle_(handle) {}
  /// `properties` is the JSON of cuDNN's device property descriptor. Plans for such a target can be compiled, not run.
  /// Throws Error{failed} when cuDNN rejects it.
  static CudnnTarget described(const std::string& properties, int compute_capability);

  cudnnHandle_t handle() const { return handle_; }

 private:
  friend class CudnnGraph;
  CudnnTarget() = default;

  cudnnHandle_t handle_ = nullptr;
  std::shared_ptr<const void> properties_;
  int compute_capability_ = 0;
};

/// Restricts the plans that may be used.
struct EngineRules {
  bool tensor_cores = true;     // false: fp32 stays fp32, not TF32
  bool deterministic = false;   // no sums in a varying order
  std::size_t workspace_limit;  // bytes
};

/// Built once, in three steps: tensors and operations; plan(); build() of the plan to run. Everything is computed in
/// f32. Malformed graphs throw std::logic_error, from plan() on.
class CudnnGraph {
 public:
  /// Identifies a tensor of the graph.
  enum class Tensor : int {};

  /// `io`: the dtype that intermediate results are rounded to where rounding is specified.
  CudnnGraph(const CudnnTarget& target, DType io);
  CudnnGraph(CudnnGraph&&) noexcept;
  CudnnGraph& operator=(CudnnGraph&&) noexcept;
  ~CudnnGraph();

  /// Tensors in memory: run() takes their pointers in the order of these calls.
  Tensor input(const TensorLayout& layout);
  void output(Tensor tensor, const TensorLayout& layout);
  /// Makes the outermost axis of a bound tensor begin at `offsets` i32 [N+1,1,1,1], in elements, instead of at
  /// multiples of its stride.
  void set_ragged(Tensor tensor, Tensor offsets);
  Tensor constant(float value);

  Tensor convolution(Tensor x, Tensor w, const Conv2dAttributes& conv);
  Tensor convolution_grad_input(Tensor dy, Tensor w, const Conv2dAttributes& conv, const TensorLayout& dx);
  Tensor convolution_grad_weight(Tensor x, Tensor dy, const Conv2dAttributes& conv, const TensorLayout& dw);

  Tensor identity(Tensor a);
  Tensor add(Tensor a, Tensor b);
  Tensor subtract(Tensor a, Tensor b);
  /// The product, in f32.
  Tensor scale(Tensor a, Tensor b);
  /// The product, rounded.
  Tensor multiply(Tensor a, Tensor b);
  Tensor relu(Tensor a);
  /// dy where x > 0.
  Tensor relu_grad(Tensor dy, Tensor x);
  /// 1 where a > b, as a label value.
  Tensor greater(Tensor a, Tensor b);

  struct Normalized {
    Tensor y, mean, invstd;
  };
  Normalized batch_norm(Tensor x, Tensor gamma, Tensor beta, float epsilon);
  /// (x - mean) invstd gamma + beta
  Tensor normalize(Tensor x, Tensor mean, Tensor invstd, Tensor gamma, Tensor beta);
  struct NormGradients {
    Tensor dx, dgamma, dbeta;
  };
  NormGradients batch_norm_grad(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor invstd);

  struct Sums {
    Tensor sum, sum_of_squares;
  };
  /// f32 sums of each channel.
  Sums channel_sums(Tensor x);
  /// dgamma, dbeta, and the factors of dy, x and 1 in a batch norm's dx.
  std::array<Tensor, 5> batch_norm_grad_sums(Tensor dy, Tensor x, Tensor mean, Tensor invstd, Tensor gamma);

  /// Dropout drawn by cuDNN's Philox, from seed and offset i64 [1,1,1,1]: the same in forward and backward for equal
  /// values.
  struct DrawnDropout {
    Tensor seed, offset;
    float probability;
  };
  /// q, k, v, out and their gradients are [B,heads,S,D]; lengths i32 [B,1,1,1]; mask (what dropout multiplies a weight
  /// by) [B,heads,S,S]; lse f32 [B,heads,S,1]. Rows beyond a length are undefined.
  struct AttentionInputs {
    Tensor q, k, v;
    Tensor query_lengths, key_lengths;
    float scale = 1;                           // of the scores
    std::optional<DrawnDropout> dropout = {};  // or
    std::optional<Tensor> mask = {};
    bool causal = false;  // a query attends to no later key
  };
  struct Attended {
    Tensor out, lse;
  };
  Attended attention(const AttentionInputs& inputs);
  struct AttentionGradients {
    Tensor dq, dk, dv;
  };
  AttentionGradients attention_grad(const AttentionInputs& inputs, Tensor out, Tensor dout, Tensor lse,
                                    bool deterministic);

  /// Lists the plans that the rules allow, in cuDNN's order of preference. Returns the reason if there is none.
  std::optional<std::string> plan(const EngineRules& rules);
  /// Names of the plans, by index: engine and knobs.
  const std::vector<std::string>& plan_names() const;
  /// Compiles a plan; false when cuDNN cannot.
  bool build(std::size_t plan);
  /// Of a plan that was built.
  std::size_t workspace_bytes(std::size_t plan) const;
  std::span<const TensorLayout> bound() const;

  /// Identifies the graph, with the versions of cuDNN and its frontend. Call before plan().
  std::string structure() const;
  /// The plan that was built last, with its compiled code, for an equal graph's restore() on an equal GPU,
  /// present or described; empty where cuDNN cannot save it.
  std::vector<std::uint8_t> save() const;
  /// Instead of plan() and build(): the saved plan `name` becomes the only one. False when cuDNN rejects it.
  bool restore(const std::string& name, const std::vector<std::uint8_t>& saved);

  /// Runs a plan that was built with the target's handle and stream. `pointers` follow the order of bound().
  void run(std::size_t plan, std::span<void* const> pointers, void* workspace) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ptrain::cuda
