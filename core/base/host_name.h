// The name of the machine that the process runs on.
#pragma once

#include <string>

namespace ptrain {

/// "unknown host" where the system does not tell.
std::string host_name();

}  // namespace ptrain
