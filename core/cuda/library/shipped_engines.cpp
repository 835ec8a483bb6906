#include "core/cuda/library/shipped_engines.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/io/atomic_file.h"
#include "core/io/own_file.h"
#include "core/io/shipped_folder.h"

namespace ptrain::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* described_by = "device.json";

}  // namespace

fs::path plans_folder(const fs::path& plans, const GpuDescription& gpu) {
  return plans / fmt::format("{:016x}", fnv1a64(gpu.code_properties));
}

EngineCache new_plans(const fs::path& plans, const GpuDescription& gpu) {
  const fs::path folder = plans_folder(plans, gpu);
  make_own_folder(folder);
  if (const std::string problem = folder_problem(folder); !problem.empty()) fail("{}: {}", folder.string(), problem);
  write_file_atomic(folder / described_by, gpu.code_properties, Flush::no);
  return EngineCache(folder);
}

EngineCache find_plans(const fs::path& plans, const GpuDescription& gpu) {
  const fs::path folder = plans_folder(plans, gpu);
  const bool of_such = read_own_file(folder / described_by).content == gpu.code_properties;
  return of_such ? EngineCache(folder) : EngineCache();
}

EngineCache shipped_plans(cudnnHandle_t handle) {
  const fs::path plans = shipped_folder() / "plans";
  std::error_code error;
  if (!fs::exists(plans, error)) return {};
  try {
    return find_plans(plans, parse_gpu_description(describe_gpu(handle)));
  } catch (const Error&) {  // shipped plans only save time
    return {};
  }
}

}  // namespace ptrain::cuda
