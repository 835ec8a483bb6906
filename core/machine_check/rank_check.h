// Compares the ranks of a job: what each computes, reads and writes, and how fast it exchanges with the others.
#pragma once

#include "core/comm/communicator.h"
#include "core/exec/backend.h"
#include "core/machine_check/checks.h"
#include "core/report/progress.h"

#include <filesystem>

namespace ptrain {

struct RankCheckOptions {
  std::filesystem::path folder;  // where each rank writes a file for a moment
  double exchange_seconds = 20;  // about how long the exchanges of all laps take
  Progress* progress = nullptr;  // of rank 0
};

/// Every rank calls it, with the backend of its device. All measure at the same time, in twelve laps; where a rank is
/// slower than the others, in twelve more, and it counts as slow if it is so again. So is a link between two ranks,
/// which is then measured alone. Returns the same checks on every rank: one for each figure, and one for each slow rank
/// or link. Throws Error{failed} where a rank cannot write to the folder, and RankFailure naming a rank that hangs and
/// what it did.
std::vector<Check> check_ranks(Communicator& communicator, Backend& backend, const RankCheckOptions& options);

}  // namespace ptrain
