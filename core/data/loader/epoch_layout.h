// Assignment of samples to batches: pure arithmetic over (epoch, batch, rank), no state.
#pragma once

#include "core/data/loader/loader.h"

#include <cstdint>

namespace ptrain {

class EpochLayout {
 public:
  EpochLayout(std::int64_t samples, const LoaderOptions& options)
      : samples_(samples), options_(options), global_batch_(options.batch_size * options.world_size) {}

  std::int64_t batches_per_epoch() const {
    return options_.remainder == Remainder::drop ? samples_ / global_batch_
                                                 : (samples_ + global_batch_ - 1) / global_batch_;
  }
  /// First position in the epoch's order of this rank's part of `batch`.
  std::int64_t begin(std::int64_t batch) const { return batch * global_batch_ + options_.rank * options_.batch_size; }
  /// Number of samples in that part: batch_size, or fewer (down to 0) at the end of the epoch.
  std::int64_t count(std::int64_t batch) const {
    const std::int64_t left = samples_ - begin(batch);
    return left < 0 ? 0 : left < options_.batch_size ? left : options_.batch_size;
  }

 private:
  std::int64_t samples_;
  LoaderOptions options_;
  std::int64_t global_batch_;
};

}  // namespace ptrain
