// How a graph's nodes reach the other ranks of a data-parallel run. Kernels see this interface only; who the others
// are, and over what they are reached, is core/dist's matter.
#pragma once

#include "core/base/dtype.h"

#include <cstdint>

namespace ptrain {

class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// Replaces `count` elements of device memory on every rank by factor * their sum over all ranks. Returns at once;
  /// the data must be left alone until wait_all_reduces(). All ranks start the same all-reduces in the same order, and
  /// all get the same bits: the sum is taken in rank order in fp32 and rounded once.
  /// Throws when another rank has failed.
  virtual void start_all_reduce(void* data, std::int64_t count, DType dtype, float factor) = 0;
  /// Holds what follows (the calling thread, or the device's stream) until all that was started is done.
  virtual void wait_all_reduces() = 0;
  /// Called between nodes: this rank is at work, however long the others may wait for it.
  virtual void note_progress() = 0;
};

}  // namespace ptrain
