// Threads that can be refused: a limit of the user (ulimit -u) or of a container (pids.max) is an error of one line.
#pragma once

#include "core/base/errors.h"

#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

namespace ptrain {

/// A thread that runs `body`. Throws Error{failed} where the system grants none.
template <typename Body>
std::thread start_thread(Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    fail("cannot start a thread: {}; raise the limit of processes (ulimit -u, or the container's pids limit)",
         error.code().message());
  }
}

/// body(0) to body(count - 1), a thread each. Throws as start_thread does: then none of them has run.
void run_together(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace ptrain
