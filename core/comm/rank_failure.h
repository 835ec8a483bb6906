// The error that ends a data-parallel run on every rank when one of them fails.
#pragma once

#include "core/base/errors.h"

namespace ptrain {

/// The message names the rank, its host and its last activity.
class RankFailure : public Error {
 public:
  RankFailure(int rank, const std::string& message) : Error(ExitCode::failed, message), rank_(rank) {}
  /// The rank that failed.
  int rank() const { return rank_; }

 private:
  int rank_;
};

}  // namespace ptrain
