// The names of the machine that the process runs on and of its processor.
#pragma once

#include <string>

namespace ptrain {

/// "unknown host" where the system does not tell.
std::string host_name();

/// The processor as /proc/cpuinfo has it: by its model's name, or, on Arm, by implementer and part.
std::string processor_name();

}  // namespace ptrain
