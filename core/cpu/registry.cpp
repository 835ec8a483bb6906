#include "core/cpu/registry.h"

#include "core/cpu/kernels.h"

#include <vector>

namespace ptrain::cpu {
namespace {

struct Entry {
  std::string_view op;
  KernelFactory make;
};

// Sorted by op type.
const std::vector<Entry> table = {
    {"accumulate", make_accumulate},
    {"grad_norm", make_grad_norm},
    {"loss_scale_update", make_loss_scale_update},
    {"optimizer_update", make_optimizer_update},
    {"seed_gradient", make_seed_gradient},
};

}  // namespace

KernelFactory find_kernel(std::string_view op_type) {
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

}  // namespace ptrain::cpu
