#include "core/io/cache_directory.h"

#include <cstdlib>

namespace ptrain {
namespace {

/// The folder in an environment variable; an empty variable counts as unset, by the XDG base directory specification.
std::filesystem::path read_path_variable(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

std::filesystem::path cache_directory() {
  if (auto own = read_path_variable("PTRAIN_CACHE_DIR"); !own.empty()) return own;
  if (const auto cache = read_path_variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "ptrain";
  if (const auto home = read_path_variable("HOME"); home.is_absolute()) return home / ".cache" / "ptrain";
  return {};
}

}  // namespace ptrain
