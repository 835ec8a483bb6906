#include "core/io/replace_folder.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

namespace ptrain {

namespace fs = std::filesystem;

void replace_folder(const fs::path& folder, const std::function<void(const fs::path&)>& write) {
  const fs::path fresh = folder.parent_path() / fmt::format(".{}.ptrain.tmp", folder.filename().string());
  try {
    fs::remove_all(fresh);
    make_folder(fresh);
    write(fresh);
    // If a file system cannot exchange two folders, a crash between the next two lines leaves only the new one.
    if (!fs::exists(folder) || renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) != 0) {
      fs::remove_all(folder);
      fs::rename(fresh, folder);
    }
    fs::remove_all(fresh);
  } catch (const fs::filesystem_error& error) {
    fail("{}: cannot be replaced: {}", folder.string(), error.code().message());
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    throw;
  }
}

}  // namespace ptrain
