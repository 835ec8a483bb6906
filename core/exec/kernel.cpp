#include "core/exec/kernel.h"

#include <fmt/format.h>

namespace ptrain {

std::string describe_problem(const KernelContext& context) {
  std::string text = fmt::format("{} {}", context.op.type(), context.op.attributes());
  for (const TensorDesc& desc : context.inputs) text += ' ' + desc.to_string();
  for (const TensorDesc& desc : context.outputs) text += ' ' + desc.to_string();
  return text;
}

}  // namespace ptrain
