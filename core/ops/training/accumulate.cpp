#include "core/ops/training/accumulate.h"

#include <stdexcept>

namespace ptrain {

std::vector<TensorDesc> Accumulate::infer(std::span<const TensorDesc> inputs) const {
  if (inputs[0].shape != inputs[1].shape) throw std::invalid_argument("the two tensors differ in shape");
  return {};
}

}  // namespace ptrain
