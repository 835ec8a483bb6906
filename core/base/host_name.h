// The names of the machine that the process runs on and of its processor.
#pragma once

#include <string>

namespace ptrain {

/// "unknown host" where the system reports none.
std::string host_name();

/// The processor as /proc/cpuinfo describes it: the model name, or on Arm the implementer and part.
std::string processor_name();

}  // namespace ptrain
