// Compiled plans that are installed with the program: compiled without a GPU from its description, and used on GPUs
// whose description is equal.
#pragma once

#include "core/cuda/library/engine_cache.h"
#include "core/cuda/library/gpu_description.h"

namespace ptrain::cuda {

/// The GPU's folder below `plans`, which also has device.json with its code_properties.
std::filesystem::path plans_folder(const std::filesystem::path& plans, const GpuDescription& gpu);

/// Creates the GPU's folder below `plans`, for plans to be shipped. Throws Error{failed} when it cannot.
EngineCache new_plans(const std::filesystem::path& plans, const GpuDescription& gpu);

/// The plans below `plans` for such a GPU; none if its folder belongs to another.
EngineCache find_plans(const std::filesystem::path& plans, const GpuDescription& gpu);

/// find_plans() below shipped_folder() for the handle's GPU; none if cuDNN does not describe it.
EngineCache shipped_plans(cudnnHandle_t handle);

}  // namespace ptrain::cuda
