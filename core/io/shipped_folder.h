// Where files lie that are installed with the program.
#pragma once

#include <filesystem>

namespace ptrain {

/// share/ptrain of the installation that this program belongs to; it need not exist.
std::filesystem::path shipped_folder();

}  // namespace ptrain
