// A folder of runs as pages, which say how the runs stand at the moment; they change while runs train.
#pragma once

#include "core/analysis/html/page.h"
#include "core/analysis/run_list.h"
#include "core/io/file_identity.h"
#include "core/io/run_files.h"
#include "core/report/metrics_tail.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// Thread-safe.
class RunSite {
 public:
  /// Throws Error{failed} if there is no such folder, or no run in it.
  explicit RunSite(const std::filesystem::path& root);

  /// Names of folders from the root down; none: the root.
  using Place = std::vector<std::string>;

  struct Page : PageContent {
    bool changes = false;  // a run trains there
  };
  /// The page of a place: a run's, a sweep's, or at the root the list of all; null where there is none. Only real
  /// folders below the root are looked at, no symbolic links.
  std::optional<Page> make_page(const Place& place);
  /// Changes when the page does.
  std::uint64_t version(const Place& place);
  /// The report.json or metrics.jsonl of the run at a place; null for another name, or without a run.
  std::optional<std::filesystem::path> find_file(const Place& place, std::string_view name);

 private:
  /// A run as its files say; without a report by the lines of its metrics.
  class Run {
   public:
    explicit Run(std::filesystem::path folder) : folder_(std::move(folder)), tail_(folder_ / run_files::metrics) {}
    /// Reads what is new; returns whether anything is.
    bool update();
    const RunOverview& overview() const { return overview_; }
    const RunProgress& progress() const { return progress_; }
    bool has_report() const { return has_report_; }
    std::uint64_t version = 0;

   private:
    struct State {
      bool is_running = false;
      FileIdentity report, start;
      bool operator==(const State&) const = default;
    };

    std::filesystem::path folder_;
    MetricsTail tail_;
    RunProgress progress_;
    RunOverview overview_;
    std::optional<State> seen_;  // when it was last read
    bool has_report_ = false;
  };
  using Clock = std::chrono::steady_clock;

  void update();
  void update(Run& run);
  /// The run at a place, which may belong to a sweep; null: none.
  Run* find_run(const Place& place);
  /// The sweep above a place; null: none.
  std::optional<Place> find_sweep(const Place& place) const;
  /// The folder below the root; null if it is none, or behind a symbolic link.
  std::optional<std::filesystem::path> find_folder(const Place& place) const;
  /// Throws Error{failed} where it has gone.
  std::filesystem::path require_folder(const Place& place) const;
  Page make_overview() const;
  Page make_run(const Place& place, const Run& run) const;
  Page make_sweep(const Place& place) const;

  const std::filesystem::path root_;
  std::mutex mutex_;
  Clock::time_point updated_;
  std::map<std::string, Run> runs_;        // by path below the root
  std::map<std::string, Run> sweep_runs_;  // of sweeps, as far as they were asked for
  std::vector<std::string> sweeps_;        // paths
  std::uint64_t version_ = 0;
};

}  // namespace ptrain
