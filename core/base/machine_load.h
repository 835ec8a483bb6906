// What other programs, and other machines of the same host, did with the processor while something was measured.
#pragma once

#include "core/base/clock.h"

#include <filesystem>
#include <optional>
#include <string>

namespace ptrain {

/// Means over a time.
struct OtherLoad {
  double cores = 0;         // busy with other processes
  double stolen_cores = 0;  // that the hypervisor gave to other machines
  int usable_cores = 0;     // by this process

  template <typename Fields>
  void describe(Fields& field) {
    field("cores", cores, "cores busy with other processes");
    field("stolen_cores", stolen_cores, "cores that the hypervisor gave to other machines");
    field("usable_cores", usable_cores, "cores available to the process");
  }
  /// Whether a program with `threads` busy threads was slower for it: fewer cores than threads were left.
  bool slows(int threads) const;
  /// "other programs kept 1.9 of 2 cores busy", and what the hypervisor took.
  std::string text() const;
  /// The same, and that what was measured then is too slow.
  std::string warning() const;
};

/// Watches the cores that this process may run on, from its construction on.
class LoadWatch {
 public:
  /// `statistics` is Linux's file of processor times (proc_stat(5)).
  explicit LoadWatch(std::filesystem::path statistics = "/proc/stat");

  /// Nothing within the first 0.2 s (the file counts hundredths), or where the file cannot be read.
  std::optional<OtherLoad> measure() const;

 private:
  /// Seconds, over all usable cores.
  struct Times {
    double busy = 0, stolen = 0;
    int cores = 0;
  };
  Times read() const;

  std::filesystem::path statistics_;
  Stopwatch watch_;
  Times before_;
  double own_before_ = 0;
};

}  // namespace ptrain
