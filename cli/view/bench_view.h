// Progress display of a sweep: a table redrawn on a terminal, or a line per run.
#pragma once

#include "core/bench/sweep.h"

#include <cstdio>
#include <memory>

namespace ptrain {

enum class ViewStyle { automatic, table, plain, none, events };

/// `automatic` is the table if `stream` can be redrawn, else plain lines; events go to standard output (event_log.h).
/// `suite` must outlive the view.
std::unique_ptr<SweepObserver> make_bench_view(const Suite& suite, ViewStyle style, std::FILE* stream = stderr);

/// The table's rows, one per case: runs done, outcomes, throughput with its interval, memory, accuracy.
std::vector<std::string> bench_rows(const Suite& suite, const std::vector<CaseProgress>& cases);

}  // namespace ptrain
