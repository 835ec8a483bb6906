// doctor --ranks: compares the ranks of a job with one another.
#pragma once

#include "core/io/temporary_file.h"

#include <cstdint>
#include <string>

namespace ptrain {

struct RanksRequest {
  std::int64_t ranks = 0;  // threads, unless a launcher started ptrain; 0: this machine alone
  std::string disk = get_temporary_folder().string();  // folder on the disk to measure
};

/// Runs check_ranks() on every rank of this process and prints the checks on rank 0. Throws Error{failed} there when
/// one failed, Error{usage} for a single rank.
void compare_all_ranks(const RanksRequest& request, bool as_json);

}  // namespace ptrain
