// Small training runs whose ranks are threads of the test.
#pragma once

#include "core/dist/rank_failure.h"
#include "core/dist/threads.h"
#include "tests/unit/train/training_run.h"

#include <exception>
#include <thread>

namespace ptrain::testing {

/// Calls body(rank, transport) on a thread per rank; rethrows the first rank's exception.
inline void on_ranks(int world_size, double timeout_seconds,
                     const std::function<void(int, std::unique_ptr<Transport>)>& body) {
  auto transports = make_thread_transports(world_size, timeout_seconds);
  std::vector<std::exception_ptr> failures(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(static_cast<int>(rank), std::move(transports[rank]));
      } catch (...) {
        failures[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

/// Trains on `world_size` ranks as `config` says for each; what every rank had in the end.
inline std::vector<Outcome> train_on_ranks(const Config& config, int world_size) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(world_size));
  on_ranks(world_size, 60, [&](int rank, std::unique_ptr<Transport> transport) {
    Communicator communicator(std::move(transport));
    try {
      outcomes[static_cast<std::size_t>(rank)] = train(config, {}, make_test_backend, &communicator);
      communicator.close();
    } catch (const RankFailure&) {
      throw;
    } catch (const std::exception& error) {
      communicator.abort(error.what());
      throw;
    }
  });
  return outcomes;
}

/// The same samples a step on `world_size` ranks.
inline Config shared_out(Config config, int world_size) {
  config.data.batch_size /= world_size;
  return config;
}

}  // namespace ptrain::testing
