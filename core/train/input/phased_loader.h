// The batches of a training, by step: one loader per phase, one at a time.
#pragma once

#include "core/train/phases.h"

#include <optional>

namespace ptrain {

class PhasedLoader {
 public:
  /// `options` are a rank's, for any phase. `data` and `counts` must outlive it.
  PhasedLoader(const Dataset& data, LoaderOptions options, const StepCounts& counts)
      : data_(data), options_(std::move(options)), counts_(counts) {}

  /// The loader whose next batches are for step `step`, counted from 0; steps are consecutive, from any first one. The
  /// reference is valid until the next call.
  Loader& at(std::int64_t step);

  /// The distinct bad samples of each phase so far.
  BadSamples bad_samples() const;
  /// Number of images in all phases that the device decoded.
  std::int64_t device_decoded() const;

 private:
  /// Starts the loader of phase `phase`.
  void enter(std::size_t phase);

  const Dataset& data_;
  const LoaderOptions options_;
  const StepCounts& counts_;
  std::optional<Loader> loader_;
  std::size_t phase_ = 0;
  BadSamples earlier_bad_samples_;  // of the phases before
  std::int64_t earlier_device_decoded_ = 0;
};

}  // namespace ptrain
