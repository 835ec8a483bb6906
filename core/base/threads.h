// Thread creation that can fail: a user limit (ulimit -u) or a container's (pids.max) is a one-line error.
#pragma once

#include "core/base/errors.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace ptrain {

/// A thread that runs `body`. Throws Error{failed} where the system refuses one.
template <typename Body>
std::thread start_thread(Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    fail("cannot start a thread: {}; raise the limit of processes (ulimit -u, or the container's pids limit)",
         error.code().message());
  }
}

/// Runs body(0) to body(count - 1), each on its own thread. Throws as start_thread does; then none of them has run.
inline void run_together(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::promise<bool> complete;
  const std::shared_future<bool> go = complete.get_future().share();
  std::vector<std::thread> running;
  std::exception_ptr refused;
  try {
    while (running.size() < count) {
      running.push_back(start_thread([&body, go, rank = running.size()] {
        if (go.get()) body(rank);
      }));
    }
  } catch (const Error&) {
    refused = std::current_exception();
  }
  complete.set_value(!refused);
  for (std::thread& thread : running) thread.join();
  if (refused) std::rethrow_exception(refused);
}

}  // namespace ptrain
