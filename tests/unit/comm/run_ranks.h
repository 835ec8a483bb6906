// Ranks that are threads of the test.
#pragma once

#include "core/comm/communicator.h"
#include "core/comm/rank_failure.h"
#include "core/comm/thread_transport.h"

#include <exception>
#include <thread>

namespace ptrain::testing {

/// Calls body(communicator) on a thread per rank, and notifies the other ranks when it throws; what each rank threw, by
/// rank: null for those that came to their end.
template <typename Body>
std::vector<std::exception_ptr> run_ranks(int world_size, double timeout_seconds, const Body& body) {
  auto transports = make_thread_transports(world_size, timeout_seconds);
  std::vector<std::exception_ptr> failures(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Communicator communicator(std::move(transports[rank]));
      try {
        body(communicator);
        communicator.close();
      } catch (const RankFailure&) {
        failures[rank] = std::current_exception();
      } catch (const std::exception& error) {
        failures[rank] = std::current_exception();
        communicator.abort(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

}  // namespace ptrain::testing
