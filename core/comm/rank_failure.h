// What ends a data-parallel run on every rank when one of them cannot go on.
#pragma once

#include "core/base/errors.h"

namespace ptrain {

/// The message names rank and host and says what the rank last did.
class RankFailure : public Error {
 public:
  RankFailure(int rank, const std::string& message) : Error(ExitCode::failed, message), rank_(rank) {}
  /// The rank that failed.
  int rank() const { return rank_; }

 private:
  int rank_;
};

}  // namespace ptrain
