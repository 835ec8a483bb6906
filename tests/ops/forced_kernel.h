// Kernels that tests ask for by name, whatever a search would choose.
#pragma once

#include "core/cpu/cpu_kernel_registry.h"
#include "tests/ops/op_case.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace ptrain::testing {

class AskedForKernel {
 public:
  explicit AskedForKernel(const std::string& name) { setenv("PTRAIN_KERNEL", name.c_str(), 1); }
  ~AskedForKernel() { unsetenv("PTRAIN_KERNEL"); }
  AskedForKernel(const AskedForKernel&) = delete;
  AskedForKernel& operator=(const AskedForKernel&) = delete;
};

inline std::string get_implementation(const Op& op, const std::vector<TensorDesc>& inputs) {
  const std::vector<TensorDesc> outputs = op.infer(inputs);
  return cpu::find_kernel(op.type())({op, inputs, outputs})->record().implementation;
}

}  // namespace ptrain::testing
