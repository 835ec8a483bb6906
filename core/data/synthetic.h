// What data sets made from random numbers have in common.
#pragma once

#include "core/data/sources.h"

namespace ptrain {

class SyntheticDataset : public Dataset {
 public:
  /// Throws Error{usage} if the split would have no samples.
  SyntheticDataset(const DataSettings& settings, Split split);

  std::int64_t size() const override { return size_; }
  std::int32_t label(std::int64_t) const override { return 0; }
  /// Of samples that all follow from a few numbers.
  std::uint64_t fingerprint() const override { return fingerprint_of(std::int64_t{1} << 16); }

 protected:
  /// The random numbers of one sample; those of the splits do not overlap.
  RandomStream sample_stream(std::int64_t index) const;
  /// The random numbers that all samples share.
  RandomStream common_stream() const;

 private:
  std::uint64_t seed_;
  std::uint64_t eval_;  // 1 for that split
  std::int64_t size_;
};

}  // namespace ptrain
