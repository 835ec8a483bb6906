// The order of samples in a training epoch: every sample once in random order, every class equally often, or images of
// one form in each step. All can be read at any position without being stored, and depend only on the seed, the epoch
// and the labels or forms.
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
  /// The order of `count` samples, of which about `window` are shuffled together (0: all); or balanced by `classes`
  /// (which must outlive this) unless that is null. Balanced, each
  /// class is drawn count / classes times, rounded up for the first classes. A class with fewer samples repeats them,
  /// each equally often up to one, in a new order each time; a class with more draws others in each epoch.
  EpochOrder(std::uint64_t seed, std::uint64_t epoch, std::int64_t count, std::int64_t window = 0,
             const ClassSamples* classes = nullptr)
      : seed_(seed), epoch_(epoch), order_(seed, epoch, count, window), classes_(classes) {}

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
  WindowedPermutation order_;
  const ClassSamples* classes_;
};

/// Sample indices by the form of their images.
struct ImageGroups {
  std::vector<std::int64_t> wide, tall;
};

/// All samples of the data set, in their order.
inline ImageGroups group_by_aspect(const Dataset& data) {
  ImageGroups groups;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    (data.aspect(i) == ImageAspect::tall ? groups.tall : groups.wide).push_back(i);
  }
  return groups;
}

/// An order whose steps have images of one form each. Both forms get steps in proportion to their samples, whose
/// fraction is rounded up or down at random in each epoch. A form with more samples than its steps draws others in each
/// epoch; one with fewer repeats some.
class GroupedOrder {
 public:
  /// All ranks together take `step_samples` in a step. Neither of the groups, which must outlive this, is empty.
  GroupedOrder(std::uint64_t seed, std::uint64_t epoch, const ImageGroups& groups, std::int64_t step_samples)
      : groups_(groups),
        step_samples_(step_samples),
        step_count_((count(groups.wide) + count(groups.tall) + step_samples - 1) / step_samples),
        steps_(seed, epoch, step_count_, DataStream::groups),
        wide_(seed, epoch, count(groups.wide)),
        tall_(seed, epoch, count(groups.tall)) {
    const double share =
        static_cast<double>(count(groups.tall)) / static_cast<double>(count(groups.wide) + count(groups.tall));
    const double rounding = SampleRandom(seed, epoch, 0, DataStream::groups).uniform();
    wide_steps_ = step_count_ - static_cast<std::int64_t>(share * static_cast<double>(step_count_) + rounding);
  }

  /// The form of the images of the step with that position.
  ImageAspect aspect(std::int64_t position) const {
    return steps_[position / step_samples_] < wide_steps_ ? ImageAspect::wide : ImageAspect::tall;
  }

  DrawnSample operator[](std::int64_t position) const {
    const bool tall = aspect(position) == ImageAspect::tall;
    const std::int64_t step = steps_[position / step_samples_] - (tall ? wide_steps_ : 0);
    const std::vector<std::int64_t>& samples = tall ? groups_.tall : groups_.wide;
    const std::int64_t draw = step * step_samples_ + position % step_samples_, size = count(samples);
    const std::int64_t place = (tall ? tall_ : wide_)[draw % size];
    return {samples[static_cast<std::size_t>(place)], static_cast<std::uint64_t>(draw / size)};
  }

 private:
  static std::int64_t count(const std::vector<std::int64_t>& samples) {
    return static_cast<std::int64_t>(samples.size());
  }

  const ImageGroups& groups_;
  std::int64_t step_samples_, step_count_, wide_steps_ = 0;
  Permutation steps_, wide_, tall_;
};

}  // namespace ptrain
