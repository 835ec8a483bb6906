// Stands in for the CUDA backend in builds without it.
#include "core/base/errors.h"
#include "core/cuda/backend.h"

namespace ptrain::cuda {

std::string unavailable_reason() { return "this ptrain was built without CUDA"; }

std::unique_ptr<Backend> make_backend(int /*device_index*/) { fail("device: cuda: {}", unavailable_reason()); }

BackendInfo cuda_info() { return {}; }

}  // namespace ptrain::cuda
