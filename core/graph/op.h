// The interface that every operator definition implements. It knows no backend: `kernel()` names the kernel to look up.
#pragma once

#include "core/graph/tensor_desc.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptrain {

using ValueId = std::int32_t;
inline constexpr ValueId no_value = -1;

/// How automatic mixed precision treats an op (Paddle's lists).
enum class AmpClass {
  white,        // low precision in O1 and O2
  black,        // fp32 in O1; low precision in O2
  extra_black,  // fp32 in O1 and O2
  grey,         // follows its inputs: fp32 if any floating input is fp32
  keep,         // no casts: handles mixed inputs itself (batch norm, casts, optimizer)
};

/// Arithmetic and memory traffic of one execution.
struct Cost {
  double flops = 0;  // a multiply-add counts as two
  double bytes = 0;
};

class GradientBuilder;
class Op;
using OpPtr = std::shared_ptr<const Op>;

class Op {
 public:
  virtual ~Op() = default;

  /// The op's name: "conv2d".
  virtual std::string_view type() const = 0;
  /// The op's row in ops/op_list.h, by which registries find its kernel. Ops of several types may share one.
  virtual std::string_view kernel() const { return type(); }
  /// Attributes for dumps, "stride=2 padding=1"; empty when there are none.
  virtual std::string attributes() const { return {}; }
  /// Output descriptors from input descriptors. An optional input that is absent has rank 0 and dtype u8.
  /// Throws std::invalid_argument (without the node's name: the graph adds it).
  virtual std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const = 0;
  /// Emits gradient nodes and hands each input its gradient. Throws std::logic_error by default.
  virtual void gradient(GradientBuilder& builder) const;
  virtual AmpClass amp_class() const { return AmpClass::grey; }
  /// False for inputs that stay fp32 whatever the op computes in (statistics, scales, scalars).
  virtual bool amp_casts_input(int /*input*/) const { return true; }
  /// True where the op writes its input in place (running statistics, optimizer state, new rows of a table). Such
  /// inputs are state or parameters.
  virtual bool mutates_input(int /*input*/) const { return false; }
  /// The input whose memory output `output` may take over when nothing reads that input afterwards; -1 for none.
  virtual int inplace_input(int /*output*/) const { return -1; }
  /// Default: no arithmetic, every input and output moved once.
  virtual Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const;

 protected:
  /// Total bytes of inputs and outputs.
  static double traffic(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs);
};

/// An op with attributes, which kernels read too.
template <typename A>
class OpWith : public Op {
 public:
  using Attributes = A;
  explicit OpWith(Attributes attributes) : attributes_(std::move(attributes)) {}

  const Attributes& attrs() const { return attributes_; }

 protected:
  Attributes attributes_;
};

/// What an op's `gradient` sees: its node, the gradients that arrive, and the way to emit nodes.
class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;

  virtual ValueId input(int index) const = 0;  // no_value for an absent optional input
  virtual ValueId output(int index) const = 0;
  virtual const TensorDesc& desc(ValueId value) const = 0;
  /// Gradient of the loss with respect to output `index`; no_value when the loss does not depend on it.
  virtual ValueId output_gradient(int index) const = 0;
  /// Whether anything needs the gradient of input `index`.
  virtual bool needs_gradient(int index) const = 0;
  /// Adds a node; `inputs` may hold no_value for absent optional inputs. Returns its outputs.
  virtual std::vector<ValueId> emit(OpPtr op, std::vector<ValueId> inputs) = 0;
  /// Adds `gradient` to what input `index` receives.
  virtual void set_input_gradient(int index, ValueId gradient) = 0;
  /// Gives a table, input `index`, a sparse gradient: `values` [n, H] of the rows `rows` i32 [n]. The table is a
  /// parameter and receives no other gradient.
  virtual void set_sparse_gradient(int index, ValueId rows, ValueId values) = 0;
};

/// A descriptor that represents an absent optional input.
inline TensorDesc absent_input() { return {DType::u8, Shape{}}; }
inline bool is_absent(const TensorDesc& desc) { return desc.dtype == DType::u8 && desc.shape.rank() == 0; }
/// Whether optional input `index` is given.
inline bool has_input(std::span<const TensorDesc> inputs, int index) {
  return inputs.size() > static_cast<std::size_t>(index) && !is_absent(inputs[static_cast<std::size_t>(index)]);
}

}  // namespace ptrain
