// How a graph's nodes reach the other ranks of a data-parallel run. Kernels and backends see these interfaces only; who
// the others are, and over what their hosts are reached, is core/comm's matter.
#pragma once

#include "core/base/dtype.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace ptrain {

class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// Replaces `count` elements of device memory on every rank by factor * their sum over all ranks. Returns at once;
  /// the data must be left alone until wait_all_reduces(). All ranks start the same all-reduces in the same order, and
  /// all get the same bits; sums in rank order are taken in fp32 and rounded once.
  /// Throws when another rank has failed.
  virtual void start_all_reduce(void* data, std::int64_t count, DType dtype, float factor) = 0;
  /// Holds what follows (the calling thread, or the device's stream) until all that was started is done.
  virtual void wait_all_reduces() = 0;
  /// Called between nodes: this rank is at work, however long the others may wait for it.
  virtual void note_progress() = 0;
  /// What carries the data, for reports: "threads".
  virtual std::string_view engine() const = 0;
  /// Whether every sum is taken in rank order, which makes it the same however ranks share out the data.
  virtual bool adds_in_rank_order() const { return true; }
};

/// All-reduces of host memory, with what collectives on devices need besides: ranks that find each other, and hear of
/// one that is gone.
class HostCollectives : public Collectives {
 public:
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// Throws when another rank has failed.
  virtual void barrier() = 0;
  /// Makes `call` once, from another thread, when a rank has failed and before a call here throws for it; not after
  /// what is returned is gone.
  [[nodiscard]] virtual std::shared_ptr<void> on_failure(std::function<void()> call) = 0;
};

}  // namespace ptrain
