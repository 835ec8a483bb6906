// Counts failed runs, which have no speed but affect the verdict.
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptrain {

struct MeasuredCase;

/// How the runs of a case ended.
struct RunCounts {
  std::int64_t runs = 0;
  std::int64_t failed = 0;    // diverged, out of memory, timed out or ended in an error
  std::int64_t unsteady = 0;  // ran, but their step times did not settle, so they have no speed
  std::string example = {};   // how the first failed one ended: "diverged: the loss is not finite at step 7"

  double failed_part() const { return runs == 0 ? 0 : static_cast<double>(failed) / static_cast<double>(runs); }

  void describe(Fields& field) {
    field("runs", runs, "");
    field("failed", failed, "number of runs that diverged, ran out of memory, timed out or ended in an error");
    field("unsteady", unsteady, "number of runs whose step times did not settle, so that they have no speed");
    field("example", example, "how the first failed run ended; empty: none failed");
  }
};

/// Counts how the runs of a case ended.
RunCounts count_runs(const MeasuredCase& item);
/// Why a case has no good run: "no good run (oom: does not fit)", "no good run (was not run)".
std::string explain_no_good_run(const MeasuredCase& item);
/// Adds the counts of `b`; the example stays the first one.
RunCounts& operator+=(RunCounts& a, const RunCounts& b);

enum class FailureVerdict { not_more, more, clearly_more };

/// Whether a larger fraction of the new runs failed: clearly_more if Fisher's exact test (one-sided, "The Design of
/// Experiments", 1935) gives p < 0.05; not_more if base fails too and the difference fits one rate of failures,
/// p >= 0.2.
FailureVerdict test_failures(const RunCounts& base, const RunCounts& changed);

/// "5 of 8 new runs failed (diverged: ...), 0 of 8 of base": one line on both sides' failed and unsteady runs; empty if
/// there are none.
std::string failures_text(const RunCounts& base, const RunCounts& changed);

}  // namespace ptrain
