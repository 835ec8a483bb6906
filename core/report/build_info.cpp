#include "core/report/build_info.h"

#include "ptrain_commit.h"

#include <fmt/format.h>

namespace ptrain {

BuildInfo build_info() {
#ifdef __clang__
  const std::string compiler = fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  const std::string compiler = fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  return {PTRAIN_VERSION, PTRAIN_COMMIT, compiler, PTRAIN_BUILD_TYPE};
}

}  // namespace ptrain
