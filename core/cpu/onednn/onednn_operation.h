// A oneDNN primitive bound to a kernel's inputs and outputs, with the conversions of dtype and layout around it.
#pragma once

#include "core/cpu/onednn/onednn.h"
#include "core/exec/kernel.h"

#include <unordered_map>

namespace ptrain::cpu {

/// Whether data of a dtype is converted to fp32 before oneDNN computes, and rounded afterwards: f16, since fp32 runs
/// everywhere, and bf16 where oneDNN has no kernels for it (x86 without AVX-512 or AVX2-VNNI-2).
bool computed_in_f32(DType dtype);

/// The type in which oneDNN sees data of a dtype.
inline dnnl::memory::data_type compute_type(DType dtype) {
  return onednn_type(computed_in_f32(dtype) ? DType::f32 : dtype);
}

/// Whether an input has the same values at every run until Kernel::weights_changed().
enum class Constancy { varies, constant };

/// One tensor of an operation: the caller's layout and the primitive's.
struct Binding {
  int argument;  // DNNL_ARG_SRC...
  int slot;      // index into KernelArgs' inputs or outputs
  DType dtype;
  dnnl::memory::desc stored;                // the caller's layout, in compute_type(dtype)
  dnnl::memory::desc wanted;                // if it differs from `stored`, the tensor is converted: in the workspace at
                                            // each run,
  Constancy constancy = Constancy::varies;  // or once, kept in a ConstantStore
  int starts_from = -1;                     // for a result that is added to: the input with its initial values
};

/// A converted constant; copies share its bytes.
struct Constant {
  dnnl::memory memory;
  std::shared_ptr<std::byte> bytes;
};

/// Owns everything for one execution; `run` only binds pointers. Not thread-safe.
class OnednnOperation final : public Kernel {
 public:
  OnednnOperation(const dnnl::engine& engine, const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
                  const std::vector<Binding>& inputs, const std::vector<Binding>& outputs, std::string implementation);

  /// A constant argument of the primitive that is not an input: a scale.
  void add_constant(int argument, float value);

  void run(const KernelArgs& args) override;
  void weights_changed(ConstantStore& kept) override {
    kept_ = &kept;
    packed_ = false;
  }
  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  KernelRecord record() const override { return {implementation_}; }

 private:
  struct Reorder {
    dnnl::reorder primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };
  struct Placed {
    std::size_t offset;  // in the workspace
    dnnl::memory memory;
  };
  struct Bound {
    int slot;
    DType dtype;
    dnnl::memory memory;     // fp32 copy in the workspace when `count` is not zero, else the caller's
    std::int64_t count = 0;  // elements to convert
    int starts_from = -1;
  };

  void bind(const dnnl::engine& engine, const Binding& binding, bool is_input);
  void pack_constants(const KernelArgs& args);
  void start_result(const Bound& bound, const KernelArgs& args) const;
  dnnl::memory place(const dnnl::engine& engine, const dnnl::memory::desc& desc);
  void add_reorder(const dnnl::engine& engine, std::vector<Reorder>& list, const dnnl::memory& from,
                   const dnnl::memory& to);

  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::vector<Bound> inputs_, outputs_;
  std::vector<Placed> placed_;
  std::vector<Reorder> before_, after_;
  std::vector<Binding> constants_;  // the ones to convert
  std::vector<Constant> packed_constants_;
  bool packed_ = false;            // constants_ are converted
  ConstantStore* kept_ = nullptr;  // null: in a trial
  std::size_t workspace_bytes_ = 0;
  std::string implementation_;
};

}  // namespace ptrain::cpu
