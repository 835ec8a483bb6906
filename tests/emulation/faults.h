// Faults that the emulated libraries are asked for by the environment variable EMULATED_FAULT: "instantiation" of a
// graph, "plan NAME" of cuDNN, "algorithm N" of cuBLASLt.
#pragma once

#include <cstdlib>
#include <string>

namespace emulation {

/// Whether `what` is to fail.
inline bool fails(const std::string& what) {
  const char* asked = std::getenv("EMULATED_FAULT");
  return asked != nullptr && (what == asked || (asked == std::string("plan *") && what.starts_with("plan ")));
}

}  // namespace emulation
