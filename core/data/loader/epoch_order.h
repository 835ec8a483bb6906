// The order of samples in a training epoch: every sample once in random order, or every class equally often. Both can
// be read at any position without being stored, and depend only on the seed, the epoch and the labels.
#pragma once

#include "core/data/dataset.h"
#include "core/data/loader/permutation.h"

#include <vector>

namespace ptrain {

/// Sample indices of a data set for each class that occurs.
using ClassSamples = std::vector<std::vector<std::int64_t>>;

/// For all samples, in their order.
inline ClassSamples samples_by_class(const Dataset& data) {
  ClassSamples classes(static_cast<std::size_t>(data.info().classes));
  for (std::int64_t i = 0; i < data.size(); ++i) classes[static_cast<std::size_t>(data.label(i))].push_back(i);
  std::erase_if(classes, [](const std::vector<std::int64_t>& samples) { return samples.empty(); });
  return classes;
}

/// A sample, and how often the epoch has drawn it before.
struct DrawnSample {
  std::int64_t index = 0;
  std::uint64_t repeat = 0;
};

class EpochOrder {
 public:
  /// The order of `count` samples; balanced by `classes` (which must outlive this) unless that is null. Balanced, each
  /// class is drawn count / classes times, rounded up for the first classes. A class with fewer samples repeats them,
  /// each equally often up to one, in a new order each time; a class with more draws others in each epoch.
  EpochOrder(std::uint64_t seed, std::uint64_t epoch, std::int64_t count, const ClassSamples* classes = nullptr)
      : seed_(seed), epoch_(epoch), order_(seed, epoch, count), classes_(classes) {}

  DrawnSample operator[](std::int64_t position) const {
    const std::int64_t place = order_[position];
    if (classes_ == nullptr) return {place, 0};
    const auto classes = static_cast<std::int64_t>(classes_->size());
    const std::vector<std::int64_t>& samples = (*classes_)[static_cast<std::size_t>(place % classes)];
    const std::int64_t draw = place / classes, size = static_cast<std::int64_t>(samples.size());
    const auto repeat = static_cast<std::uint64_t>(draw / size);
    const auto number = static_cast<std::uint64_t>(place % classes);
    const Permutation order(seed_, epoch_ ^ number << 24 ^ repeat << 44, size, DataStream::balance);
    return {samples[static_cast<std::size_t>(order[draw % size])], repeat};
  }

 private:
  std::uint64_t seed_, epoch_;
  Permutation order_;
  const ClassSamples* classes_;
};

}  // namespace ptrain
