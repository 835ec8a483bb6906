#include "core/io/cache_directory.h"

#include <cstdlib>

namespace ptrain {

std::filesystem::path cache_directory() {
  if (const char* own = std::getenv("PTRAIN_CACHE_DIR")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return std::filesystem::path(cache) / "ptrain";
  if (const char* home = std::getenv("HOME")) return std::filesystem::path(home) / ".cache" / "ptrain";
  return std::filesystem::temp_directory_path() / "ptrain";
}

}  // namespace ptrain
