// Where what was found out about this machine is kept between runs.
#pragma once

#include <filesystem>

namespace ptrain {

/// $PTRAIN_CACHE_DIR, else $XDG_CACHE_HOME/ptrain, else ~/.cache/ptrain; it need not exist.
std::filesystem::path cache_directory();

}  // namespace ptrain
