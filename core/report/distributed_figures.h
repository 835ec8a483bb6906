// The parts of a report about ranks and their communication; see figures.h.
#pragma once

#include "core/report/fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// One rank's measured steps; times are means of a step.
struct RankReport {
  std::int64_t rank = 0;
  int host = 0;
  std::int64_t samples = 0;
  double samples_per_second = 0;
  double step_ms = 0, reader_ms = 0, compute_ms = 0;
  double waited_ms = 0;

  void describe(Fields& field) {
    field.about("one rank");
    field("rank", rank, "");
    field("host", host, "index of the rank's host, from 0");
    field("samples", samples, "samples of the measured steps");
    field("samples_per_second", samples_per_second, "without waiting for other ranks: lower for a straggler");
    field("step_ms", step_ms, "mean");
    field("reader_ms", reader_ms, "mean time waiting for data");
    field("compute_ms", compute_ms, "mean");
    field("waited_ms", waited_ms, "part of compute_ms waiting for slower ranks and exposed transfers");
  }
};

/// All-reduces of the measured steps, as rank 0 saw them; bandwidths in nccl-tests' definitions.
struct ExchangeReport {
  double all_reduces = 0;
  double bytes = 0;
  double transfer_ms = 0;
  double exposed_ms = 0;
  double overlapped = 0;
  double imbalance_ms = 0;
  double bus_bandwidth = 0;
  std::optional<double> peak_bus_bandwidth;

  void describe(Fields& field) {
    field("all_reduces", all_reduces,
          "number per step, reduce-scatters and all-gathers included; the following are per step too");
    field("bytes", bytes,
          "size of the buffers; half of it for reduce-scatters and all-gathers, the halves of an all-reduce");
    field("transfer_ms", transfer_ms, "time of transfers, from the arrival of the last rank");
    field("exposed_ms", exposed_ms, "part of transfer_ms that compute waited for");
    field("overlapped", overlapped, "1 - exposed_ms / transfer_ms");
    field("imbalance_ms", imbalance_ms, "time waiting for slower ranks");
    field("bus_bandwidth", bus_bandwidth, "bytes/s: 2 (n - 1) / n bytes / transfer_ms");
    field("peak_bus_bandwidth", peak_bus_bandwidth, "bytes/s with nothing else running; null: not measured");
  }
};

struct DistributedReport {
  int world_size = 1;
  std::string mode;
  std::string engine;
  std::vector<RankReport> ranks;
  ExchangeReport exchange;

  void describe(Fields& field) {
    field("world_size", world_size, "ranks");
    field.one_of("mode", mode, {"parallel_graph", "multi_process"}, "whether ranks are threads or processes");
    field.one_of("engine", engine, {"threads", "mpi", "nccl"}, "transport");
    field("ranks", ranks, "by rank");
    field("exchange", exchange, "all-reduces as rank 0 saw them");
  }
};

}  // namespace ptrain
