// Moves bytes between ranks: implemented by threads of one process and by MPI, used by the communicator.
#pragma once

#include "core/base/dtype.h"
#include "core/comm/activity.h"
#include "core/exec/collectives.h"

#include <chrono>
#include <span>
#include <string>

namespace ptrain {

/// One rank's endpoint. One thread (the communicator's) makes the collective calls, in the same order on all ranks;
/// each throws RankFailure when a rank fails.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  virtual std::string_view engine() const = 0;  // "threads", "mpi"
  /// Host index of `rank`, counted from 0; and the number of ranks on this rank's host.
  virtual int host_index(int rank) const = 0;
  virtual int local_world_size() const = 0;
  virtual const std::string& rank_host(int rank) const = 0;

  /// data = factor * sum over ranks in rank order, in fp32, rounded once. Returns the time at which all ranks had
  /// arrived.
  virtual std::chrono::steady_clock::time_point all_reduce(void* data, std::int64_t count, DType dtype,
                                                           float factor) = 0;
  /// The same, but each rank gets the sums of its own slice of the buffer (rank_slice) alone.
  virtual std::chrono::steady_clock::time_point reduce_slices(void* data, std::int64_t count, DType dtype,
                                                              float factor) = 0;
  /// Copies every rank's slice of the buffer to all ranks. Returns that time too.
  virtual std::chrono::steady_clock::time_point gather_slices(void* data, std::int64_t count, DType dtype) = 0;
  /// AllToAll's bytes, without what it does then. Returns that time too.
  virtual std::chrono::steady_clock::time_point all_to_all(const AllToAll& exchange) = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// `mine` has the same size on every rank; `all` holds them by rank.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  virtual void barrier() = 0;
  /// Swaps buffers of one size with rank `peer`, which makes the same call. All ranks make one, each with a partner of
  /// its own, or alone with its own number. Returns the seconds that it took once both had arrived, 0 alone.
  virtual double exchange(int peer, std::span<const std::byte> mine, std::span<std::byte> theirs) = 0;

  /// Called a few times a second while nothing is exchanged: sends a heartbeat and watches the others.
  virtual void idle() = 0;
  /// Informs the others that this rank failed, which ends their waits. Callable from any thread.
  virtual void abort(const std::string& reason) = 0;
  /// Regular end; no call may follow. Not called after a failure.
  virtual void finish() = 0;

  /// This rank's activity; the training thread writes it.
  virtual RankActivity& activity() = 0;
};

}  // namespace ptrain
