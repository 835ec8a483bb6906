#include "cli/view/bench_view.h"

#include "cli/view/event_log.h"
#include "core/analysis/quality.h"
#include "core/analysis/speed.h"
#include "core/base/clock.h"
#include "core/base/counted.h"
#include "core/report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <map>

namespace ptrain {
namespace {

constexpr std::size_t narrowest = 60;

std::size_t compute_name_width(const Suite& suite) {
  std::size_t width = 4;
  for (const BenchCase& item : suite.cases) width = std::max(width, item.name.size());
  return width;
}

/// "5 ok", "3 ok, 2 oom".
std::string format_outcomes(const CaseProgress& progress) {
  std::map<RunOutcome, int> counts;
  for (const RunRecord& record : progress.records) ++counts[record.outcome];
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : counts) parts.push_back(fmt::format("{} {}", count, to_string(outcome)));
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, ", "));
}

/// "812.3 images/s ±1.2 %"; without the interval for one run.
std::string format_speed(const CaseProgress& progress) {
  const std::vector<const RunFigures*> good = progress.figures();
  return good.empty() ? "-" : speed_text(good, SpeedEstimator::typical_step);
}

std::string format_row(const Suite& suite, std::size_t index, const CaseProgress& progress, std::size_t width,
                       const std::string& quality) {
  MeasuredCase item;
  for (const RunRecord& record : progress.records) item.runs.emplace_back().record = record;
  const std::vector<const MeasuredRun*> ended = item.ended();
  const Quality measured = measure_quality(ended);
  const std::string accuracy = measured.metric ? quality_text(measured, quality) : "-";
  const std::string memory =
      ended.empty() ? "-" : fmt::format("{} MiB", ended.back()->record.figures->memory_bytes >> 20);
  const char* mark = progress.running ? ">" : progress.given_up ? "x" : " ";
  return fmt::format("{} {:<{}}  {:>2}/{:<2}  {:<16}  {:>26}  {:>9}  {:>7}", mark, suite.cases[index].name, width,
                     progress.records.size(), progress.planned, format_outcomes(progress), format_speed(progress),
                     memory, accuracy);
}

/// The title of the primary metric.
std::string find_quality_column(const std::vector<CaseProgress>& cases) {
  std::vector<MetricInfo> metrics;
  for (const CaseProgress& progress : cases) {
    for (const RunRecord& record : progress.records) {
      if (!record.figures || !record.figures->evaluation) continue;
      if (const MetricValue* primary = record.figures->evaluation->primary()) metrics.push_back(*primary);
    }
  }
  return quality_title(metrics);
}

/// The time span in which the runs of all cases started.
std::string format_time_span(const std::vector<CaseProgress>& cases) {
  MeasuredSpan span;
  for (const CaseProgress& progress : cases) {
    for (const RunRecord& record : progress.records) span.add(record.started);
  }
  return span.text();
}

/// Prints one line per finished run.
class PlainView : public SweepObserver {
 public:
  PlainView(const Suite& suite, std::FILE* stream) : suite_(suite), stream_(stream) {}

  void on_start(const std::vector<CaseProgress>& cases, std::int64_t kept) override {
    fmt::print(
        stream_, "{}: {}, {}{}\n", suite_.name, counted(cases.size(), "case"), counted(suite_.repeats, "repeat"),
        kept > 0 ? fmt::format(", {} already done, measured {}", counted(kept, "run"), format_time_span(cases)) : "");
  }
  void on_change(const std::vector<CaseProgress>& cases, std::size_t index) override {
    const CaseProgress& progress = cases[index];
    if (progress.running) return;
    const RunRecord& record = progress.records.back();
    std::string line =
        fmt::format("{} {}/{}: {}", record.case_name, record.repeat + 1, progress.planned, to_string(record.outcome));
    if (record.figures) {
      line += fmt::format(", {:.1f} {} at the 10th percentile of step times, {:.3f} ms; {:.1f} s",
                          estimate_speed(*record.figures, SpeedEstimator::typical_step), record.figures->unit,
                          record.figures->typical_step_ms, record.wall_seconds);
    }
    if (!record.message.empty()) line += ": " + record.message;
    fmt::print(stream_, "{}\n", line);
    std::fflush(stream_);
  }

 private:
  const Suite& suite_;
  std::FILE* stream_;
};

/// Redraws the table in place, with the remaining work below it.
class TableView : public SweepObserver {
 public:
  TableView(const Suite& suite, std::FILE* stream) : suite_(suite), stream_(stream) {}

  void on_start(const std::vector<CaseProgress>& cases, std::int64_t kept) override {
    kept_ = kept;
    draw(cases);
  }
  void on_change(const std::vector<CaseProgress>& cases, std::size_t) override { draw(cases); }

 private:
  void draw(const std::vector<CaseProgress>& cases) {
    std::vector<std::string> lines = bench_rows(suite_, cases);
    std::int64_t done = 0, planned = 0;
    for (const CaseProgress& c : cases) {
      done += static_cast<std::int64_t>(c.records.size());
      planned += c.given_up ? static_cast<std::int64_t>(c.records.size()) : c.planned;
    }
    const std::int64_t here = done - kept_;
    const double left =
        here > 0 ? watch_.seconds() / static_cast<double>(here) * static_cast<double>(planned - done) : 0;
    lines.push_back(fmt::format("{} of {} runs, {} so far{}", done, planned, clock_text(watch_.seconds()),
                                here > 0 && planned > done ? ", about " + clock_text(left) + " to go" : ""));
    winsize size{};
    const bool known = ioctl(fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const std::size_t width = known ? std::max<std::size_t>(size.ws_col - 1, narrowest) : 200;
    if (drawn_ > 0) fmt::print(stream_, "\x1b[{}A", drawn_);
    for (const std::string& line : lines) fmt::print(stream_, "\x1b[2K{:.{}}\n", line, width);
    std::fflush(stream_);
    drawn_ = lines.size();
  }

  const Suite& suite_;
  std::FILE* stream_;
  Stopwatch watch_;
  std::size_t drawn_ = 0;
  std::int64_t kept_ = 0;
};

/// Prints an event per finished run.
class EventView : public SweepObserver {
 public:
  void on_start(const std::vector<CaseProgress>& cases, std::int64_t kept) override {
    print_event("start", {{"cases", cases.size()}, {"kept_runs", kept}});
  }
  void on_change(const std::vector<CaseProgress>& cases, std::size_t index) override {
    if (!cases[index].running) print_event("run", write_fields(cases[index].records.back()));
  }
};

class NoView : public SweepObserver {
 public:
  void on_start(const std::vector<CaseProgress>&, std::int64_t) override {}
  void on_change(const std::vector<CaseProgress>&, std::size_t) override {}
};

}  // namespace

std::vector<std::string> bench_rows(const Suite& suite, const std::vector<CaseProgress>& cases) {
  const std::size_t width = compute_name_width(suite);
  const std::string quality = find_quality_column(cases);
  std::vector<std::string> rows = {fmt::format("  {:<{}}  {:>5}  {:<16}  {:>26}  {:>9}  {:>7}", "case", width, "runs",
                                               "ended", "speed at p10 of step times", "memory",
                                               in_a_sentence(quality))};
  for (std::size_t i = 0; i < cases.size(); ++i) rows.push_back(format_row(suite, i, cases[i], width, quality));
  return rows;
}

std::unique_ptr<SweepObserver> make_bench_view(const Suite& suite, ViewStyle style, std::FILE* stream) {
  if (style == ViewStyle::events) return std::make_unique<EventView>();
  if (style == ViewStyle::none) return std::make_unique<NoView>();
  if (style == ViewStyle::table || (style == ViewStyle::automatic && can_redraw(stream))) {
    return std::make_unique<TableView>(suite, stream);
  }
  return std::make_unique<PlainView>(suite, stream);
}

}  // namespace ptrain
