#include "core/exec/kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {

std::string describe_problem(const KernelContext& context) {
  std::string text = fmt::format("{} {}", context.op.type(), context.op.attributes());
  for (const TensorDesc& desc : context.inputs) text += ' ' + desc.to_string();
  for (const TensorDesc& desc : context.outputs) text += ' ' + desc.to_string();
  return text;
}

void join(std::optional<GuardFinding>& all, const std::optional<GuardFinding>& one) {
  if (!one) return;
  if (!all) all.emplace();
  all->compared += one->compared;
  all->worst_drift = std::max(all->worst_drift, one->worst_drift);
}

}  // namespace ptrain
