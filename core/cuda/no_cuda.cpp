// Replaces the CUDA backend in builds without it.
#include "core/base/errors.h"
#include "core/cuda/cuda_backend.h"
#include "core/cuda/engine_compiler.h"

namespace ptrain::cuda {

std::string unavailable_reason() { return "this ptrain was built without CUDA"; }

std::unique_ptr<Backend> make_backend(int /*device_index*/) { fail("device: cuda: {}", unavailable_reason()); }

std::string gpu_description(int /*device_index*/) { fail("{}", unavailable_reason()); }

std::unique_ptr<EngineCompiler> make_plan_compiler(const std::string&, const std::filesystem::path&) {
  fail("plans cannot be compiled: {}", unavailable_reason());
}

BackendInfo cuda_info() { return {}; }

}  // namespace ptrain::cuda
