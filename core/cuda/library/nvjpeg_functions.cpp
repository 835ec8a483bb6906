#include "core/cuda/library/nvjpeg_functions.h"

#include <dlfcn.h>

#include <optional>

namespace ptrain::cuda {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// The library stays loaded.
std::optional<NvjpegFunctions> load() {
  void* const library = dlopen(fmt::format("libnvjpeg.so.{}", CUDART_VERSION / 1000).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  NvjpegFunctions found{};
  const bool complete =
      find(library, "nvjpegGetProperty", found.get_property) && find(library, "nvjpegCreateEx", found.create) &&
      find(library, "nvjpegDestroy", found.destroy) && find(library, "nvjpegJpegStateCreate", found.create_state) &&
      find(library, "nvjpegJpegStateDestroy", found.destroy_state) &&
      find(library, "nvjpegGetImageInfo", found.image_info) && find(library, "nvjpegDecode", found.decode);
  return complete ? std::optional(found) : std::nullopt;
}

}  // namespace

const NvjpegFunctions* find_nvjpeg() {
  static const std::optional<NvjpegFunctions> functions = load();
  return functions ? &*functions : nullptr;
}

}  // namespace ptrain::cuda
