// How bytes get from rank to rank: what threads in one process and MPI each provide, and the communicator builds on.
#pragma once

#include "core/base/dtype.h"
#include "core/comm/activity.h"

#include <chrono>
#include <span>
#include <string>

namespace ptrain {

/// One rank's end. Collective calls are made by one thread (the communicator's), by all ranks in the same order; each
/// throws RankFailure when a rank cannot go on.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  virtual std::string_view engine() const = 0;  // "threads", "mpi"
  /// Which of the run's hosts `rank` is on, counted from 0; and how many ranks share this rank's host.
  virtual int host_index(int rank) const = 0;
  virtual int local_world_size() const = 0;
  virtual const std::string& rank_host(int rank) const = 0;

  /// data = factor * sum over ranks in rank order, in fp32, rounded once. Returns the moment when all ranks were there.
  virtual std::chrono::steady_clock::time_point all_reduce(void* data, std::int64_t count, DType dtype,
                                                           float factor) = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// `mine` has the same size on every rank; `all` takes them by rank.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  virtual void barrier() = 0;

  /// Called a few times a second while nothing is exchanged: shows the others that this rank lives, looks after them.
  virtual void idle() = 0;
  /// Tells the others that this rank cannot go on, which ends what they wait for. From any thread.
  virtual void abort(const std::string& reason) = 0;
  /// The end in good order; no call may follow. Not made after a failure.
  virtual void finish() = 0;

  /// What this rank is doing; the training thread writes it.
  virtual RankActivity& activity() = 0;
};

}  // namespace ptrain
