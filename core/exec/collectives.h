// How a graph's nodes reach the other ranks of a data-parallel run. Kernels and backends see only these interfaces;
// core/comm implements them.
#pragma once

#include "core/base/dtype.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace ptrain {

/// What a rank sends to each rank and receives from each: parts, one or several for each rank, the first of all ranks
/// before the second. Both sides of a pair must give a part one size, which may be 0; what a rank sends itself is
/// copied.
struct AllToAll {
  std::vector<std::span<const std::byte>> sent;
  std::vector<std::span<std::byte>> received;
  std::function<void()> then = {};  // called by another thread when all of it has come, before the next exchange
};

class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// Replaces `count` elements of device memory on every rank by factor * their sum over all ranks. Returns at once;
  /// the data must not be used until wait_all_reduces(). All ranks start the same all-reduces in the same order, and
  /// all get the same bits; sums are taken in rank order, in fp32, and rounded once.
  /// Throws when another rank has failed.
  virtual void start_all_reduce(void* data, std::int64_t count, DType dtype, float factor) = 0;
  /// The same, but each rank gets the sums of its own slice of the buffer (rank_slice) alone.
  virtual void start_reduce_scatter(void* data, std::int64_t count, DType dtype, float factor) = 0;
  /// Copies every rank's slice of the buffer to all ranks; the rest is as for all-reduces.
  virtual void start_all_gather(void* data, std::int64_t count, DType dtype) = 0;
  /// Exchanges host memory; returns at once like start_all_reduce. All ranks start it in the same order as the rest.
  virtual void start_all_to_all(AllToAll&& /*exchange*/) {
    throw std::logic_error("internal error: these collectives have no all-to-all");
  }
  /// Makes later work (of the calling thread or the device's stream) wait for everything that was started.
  virtual void wait_all_reduces() = 0;
  /// Called between nodes: reports progress, so that waiting ranks do not consider this one hung.
  virtual void note_progress() = 0;
  /// The transport's name, for reports: "threads".
  virtual std::string_view engine() const = 0;
  /// Whether sums are always taken in rank order, so that they do not depend on how ranks divide the data.
  virtual bool adds_in_rank_order() const { return true; }
};

/// All-reduces of host memory, and what collectives on devices need besides: a barrier and notice of failed ranks.
class HostCollectives : public Collectives {
 public:
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// Throws when another rank has failed.
  virtual void barrier() = 0;
  /// Makes `call` once, from another thread, when a rank has failed and before a call here throws for it; not after the
  /// returned handle is destroyed.
  [[nodiscard]] virtual std::shared_ptr<void> on_failure(std::function<void()> call) = 0;
};

}  // namespace ptrain
