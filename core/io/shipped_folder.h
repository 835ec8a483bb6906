// The folder of files that are installed with the program.
#pragma once

#include <filesystem>

namespace ptrain {

/// share/ptrain of this program's installation; it need not exist.
std::filesystem::path shipped_folder();

}  // namespace ptrain
