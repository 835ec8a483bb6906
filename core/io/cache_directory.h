// The directory for measurements of this machine that are kept between runs.
#pragma once

#include <filesystem>

namespace ptrain {

/// $PTRAIN_CACHE_DIR, else $XDG_CACHE_HOME/ptrain, else ~/.cache/ptrain; it need not exist. Empty where none of the
/// variables is set: then nothing is cached, since a folder shared by all users could not be trusted.
std::filesystem::path cache_directory();

}  // namespace ptrain
