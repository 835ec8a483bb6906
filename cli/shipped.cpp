#include "cli/shipped.h"

#include <filesystem>

namespace ptrain {

std::string shipped_file(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (file.empty() || fs::exists(file, error) || fs::path(file).is_absolute()) return file;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path shipped = program.parent_path().parent_path() / "share/ptrain" / file;
  return fs::exists(shipped, error) ? shipped.string() : file;
}

}  // namespace ptrain
