// Iterates over every batch of a data set, once and in order.
#pragma once

#include "core/data/loader/loader.h"

#include <algorithm>

namespace ptrain {

/// Calls each(batch, done) for every batch of `samples`, of which all ranks together take `at_once` at a time, until it
/// returns false; `done`: samples so far. A rank's last batches may be empty.
template <typename Each>
void for_each_batch(Loader& loader, std::int64_t samples, std::int64_t at_once, Each&& each) {
  for (std::int64_t done = 0; done < samples;) {
    done = std::min(done + at_once, samples);
    const Batch& batch = loader.next();
    if (!each(batch, done)) return;
  }
}

}  // namespace ptrain
