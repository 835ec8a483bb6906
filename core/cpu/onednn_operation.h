// A oneDNN primitive bound to a kernel's inputs and outputs, with the conversions of dtype and layout around it.
#pragma once

#include "core/cpu/onednn.h"
#include "core/exec/kernel.h"

#include <unordered_map>

namespace ptrain::cpu {

/// One tensor of an operation: how the kernel's caller stores it and how the primitive wants it.
struct Binding {
  int argument;  // DNNL_ARG_SRC...
  int slot;      // index into KernelArgs' inputs or outputs
  dnnl::memory::desc stored;
  dnnl::memory::desc wanted;  // converted in the workspace when it differs from `stored`
};

/// Owns everything that one execution needs; `run` only binds pointers. Not for use by two threads at once.
class OnednnOperation {
 public:
  OnednnOperation(const dnnl::engine& engine, const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
                  const std::vector<Binding>& inputs, const std::vector<Binding>& outputs, std::string implementation);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  const std::string& implementation() const { return implementation_; }
  void run(const KernelArgs& args);

 private:
  struct Conversion {
    dnnl::reorder reorder;
    std::unordered_map<int, dnnl::memory> arguments;
  };
  struct Bound {
    int slot;
    dnnl::memory memory;  // whose pointer the slot gives at each run
  };
  struct Placed {
    std::size_t offset;  // in the workspace
    dnnl::memory memory;
  };

  void bind(const dnnl::engine& engine, const Binding& binding, bool is_input);
  dnnl::memory place(const dnnl::engine& engine, const dnnl::memory::desc& desc);
  void add_conversion(const dnnl::engine& engine, std::vector<Conversion>& list, const dnnl::memory& from,
                      const dnnl::memory& to);

  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::vector<Bound> inputs_, outputs_;
  std::vector<Placed> placed_;
  std::vector<Conversion> before_, after_;
  std::size_t workspace_bytes_ = 0;
  std::string implementation_;
};

}  // namespace ptrain::cpu
