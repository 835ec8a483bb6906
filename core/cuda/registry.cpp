#include "core/cuda/registry.h"

namespace ptrain::cuda {
namespace {

struct Entry {
  std::string_view op;
  CudaKernelFactory make;
};

// Sorted by op type.
const std::vector<Entry> table = {};

}  // namespace

CudaKernelFactory find_kernel(std::string_view op_type) {
  for (const Entry& entry : table) {
    if (entry.op == op_type) return entry.make;
  }
  return nullptr;
}

std::vector<std::string_view> kernel_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : table) names.push_back(entry.op);
  return names;
}

}  // namespace ptrain::cuda
