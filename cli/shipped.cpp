#include "cli/shipped.h"

#include "core/io/shipped_folder.h"

namespace ptrain {

std::string shipped_file(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (file.empty() || fs::exists(file, error) || fs::path(file).is_absolute()) return file;
  const fs::path shipped = shipped_folder() / file;
  return fs::exists(shipped, error) ? shipped.string() : file;
}

}  // namespace ptrain
