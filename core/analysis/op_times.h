// The ops of a run beside the roofline of its device: the peak of its arithmetic and its memory bandwidth.
#pragma once

#include "core/report/report.h"

#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct Roof {
  double peak = 0;                  // operations per second
  std::optional<double> bandwidth;  // bytes per second
  bool raised = false;              // above what was measured apart, to what an op reached
};
/// All nodes of one op type, over one step.
struct OpTime {
  std::string op;
  double milliseconds = 0, flops = 0, bytes = 0;
};
/// 0 for an op that never ran.
double milliseconds_of_call(const KernelReport& kernel);
/// Slowest first; empty if the run did not time its ops (output.per_op).
std::vector<OpTime> op_times(const Report& report);

/// The device's measured rates: the run's own peak, else the rate of its precision, and never less than an op reached;
/// none where neither is known.
std::optional<Roof> make_roofline(const Report& report);
/// Milliseconds that the op needs at the roofline; none without bandwidth.
std::optional<double> least_milliseconds(const OpTime& op, const Roof& roof);

/// Milliseconds that `flops` operations on `bytes` need at the roofline; none without bandwidth.
std::optional<double> least_milliseconds(double flops, double bytes, const Roof& roof);

/// The slowest `most` nodes of a step, one line each: op, layer, implementation, time, share, rate, and how much of the
/// roofline it reaches. Empty if the run did not time its ops.
std::string slowest_nodes_text(const Report& report, std::size_t most);

}  // namespace ptrain
