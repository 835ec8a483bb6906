#include "core/io/shipped_folder.h"

namespace ptrain {

std::filesystem::path shipped_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "share/ptrain";
}

}  // namespace ptrain
