// Where what was found out about this machine is kept between runs.
#pragma once

#include <filesystem>

namespace ptrain {

/// $PTRAIN_CACHE_DIR, else $XDG_CACHE_HOME/ptrain, else ~/.cache/ptrain; it need not exist. Empty where no variable
/// names one: then nothing is kept, as a folder that all users share would not be the user's own.
std::filesystem::path cache_directory();

}  // namespace ptrain
