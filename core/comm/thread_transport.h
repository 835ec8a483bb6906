// Ranks that are threads of one process and access each other's memory.
#pragma once

#include "core/comm/transport.h"

#include <memory>

namespace ptrain {

/// The transports of `world_size` ranks, by rank. A rank that shows no progress for `timeout_seconds` while others wait
/// for it fails the run.
std::vector<std::unique_ptr<Transport>> make_thread_transports(int world_size, double timeout_seconds);

}  // namespace ptrain
