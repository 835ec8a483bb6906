// Finds files that are installed with the program.
#pragma once

#include <string>

namespace ptrain {

/// Returns `file` if it exists, else the file of that name below share/ptrain of this program's installation
/// ("configs/resnet50.yaml"), if that exists.
std::string shipped_file(const std::string& file);

}  // namespace ptrain
