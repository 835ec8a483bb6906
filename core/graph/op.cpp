#include "core/graph/op.h"

#include <stdexcept>

namespace ptrain {

void Op::gradient(GradientBuilder&) const {
  throw std::logic_error("internal error: " + std::string(type()) + " has no gradient");
}

Cost Op::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {0, traffic(inputs, outputs)};
}

double Op::traffic(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) {
  double bytes = 0;
  for (const TensorDesc& d : inputs) bytes += static_cast<double>(d.bytes());
  for (const TensorDesc& d : outputs) bytes += static_cast<double>(d.bytes());
  return bytes;
}

}  // namespace ptrain
