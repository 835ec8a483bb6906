// The batches of a training, by step: one loader per phase, one at a time.
#pragma once

#include "core/train/phases.h"

#include <optional>

namespace ptrain {

class PhasedLoader {
 public:
  /// All must outlive it.
  PhasedLoader(const Config& config, const Dataset& data, const Ranks& ranks, const StepCounts& counts,
               const MakeImageDecoder& decoders)
      : config_(config), data_(data), ranks_(ranks), counts_(counts), decoders_(decoders) {}

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

  const Config& config_;
  const Dataset& data_;
  const Ranks& ranks_;
  const StepCounts& counts_;
  const MakeImageDecoder& decoders_;
  std::optional<Loader> loader_;
  std::size_t phase_ = 0;
  BadSamples earlier_bad_samples_;  // of the phases before
  std::int64_t earlier_device_decoded_ = 0;
};

}  // namespace ptrain
