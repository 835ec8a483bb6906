// Files that are installed with the program.
#pragma once

#include <string>

namespace ptrain {

/// `file`; where there is none, the one of that name below share/ptrain of the installation that this program belongs
/// to
/// ("configs/resnet50.yaml"), if that exists.
std::string shipped_file(const std::string& file);

}  // namespace ptrain
