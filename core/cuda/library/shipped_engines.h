// Compiled plans that are installed with the program: made where there was no GPU, for one that was described, and used
// on those that cuDNN describes alike.
#pragma once

#include "core/cuda/library/engine_cache.h"
#include "core/cuda/library/gpu_description.h"

namespace ptrain::cuda {

/// Where below `plans` those for the GPU lie, beside device.json: its code_properties.
std::filesystem::path plans_folder(const std::filesystem::path& plans, const GpuDescription& gpu);

/// Makes the GPU's folder below `plans`, for plans that are to be shipped. Throws Error{failed} when it cannot.
EngineCache new_plans(const std::filesystem::path& plans, const GpuDescription& gpu);

/// What lies below `plans` for such a GPU; nothing where its folder is of another.
EngineCache find_plans(const std::filesystem::path& plans, const GpuDescription& gpu);

/// find_plans() below shipped_folder() for the handle's GPU; nothing where cuDNN does not describe it.
EngineCache shipped_plans(cudnnHandle_t handle);

}  // namespace ptrain::cuda
