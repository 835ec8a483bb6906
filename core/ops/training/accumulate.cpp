#include "core/ops/training/accumulate.h"

#include <stdexcept>

namespace ptrain {

std::vector<TensorDesc> Accumulate::infer(std::span<const TensorDesc> inputs) const {
  if (inputs[total].shape != inputs[x].shape) throw std::invalid_argument("the two tensors differ in shape");
  return {};
}

}  // namespace ptrain
