// Reads the driver's version from the management library (NVML) that comes with it, loaded at run time.
#include "core/cuda/device/driver_version.h"

#include <dlfcn.h>

#include <memory>

namespace ptrain::cuda {

std::string driver_version() {
  const auto close = [](void* library) { dlclose(library); };
  const std::unique_ptr<void, decltype(close)> library(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), close);
  if (library == nullptr) return {};
  // As declared in nvml.h; nvmlReturn_t is an enum whose 0 is success.
  const auto initialise = reinterpret_cast<int (*)()>(dlsym(library.get(), "nvmlInit_v2"));
  const auto version = reinterpret_cast<int (*)(char*, unsigned)>(dlsym(library.get(), "nvmlSystemGetDriverVersion"));
  const auto shut_down = reinterpret_cast<int (*)()>(dlsym(library.get(), "nvmlShutdown"));
  if (initialise == nullptr || version == nullptr || shut_down == nullptr || initialise() != 0) return {};
  char text[96] = {};
  const bool known = version(text, sizeof text) == 0;
  shut_down();
  return known ? text : "";
}

}  // namespace ptrain::cuda
