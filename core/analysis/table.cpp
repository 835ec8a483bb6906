#include "core/analysis/table.h"

#include "core/analysis/failures.h"
#include "core/analysis/published.h"
#include "core/analysis/quality.h"
#include "core/analysis/remark_list.h"
#include "core/analysis/run_list.h"
#include "core/analysis/speed.h"
#include "core/base/errors.h"
#include "core/config/text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace ptrain {
namespace {

/// A case with its runs, from which cells are made.
struct Source {
  const MeasuredCase& item;
  std::vector<const MeasuredRun*> good, ended;  // for speeds, and for all else

  const MeasuredRun* reported;  // null: no run left a report
  SpeedEstimator estimator;     // for the whole table
  std::string quality;          // title of its column of primary metrics

  const Report* report() const { return reported == nullptr ? nullptr : &*reported->report; }
};

/// A cell without a value, for the reason `why`.
TableCell nothing(std::string why) {
  TableCell cell{"-", nullptr, {}};
  cell.missing = std::move(why);
  return cell;
}

TableCell nothing_reported() { return nothing("no run left a report"); }

TableCell text_cell(const Source& source, const std::string& text, const std::string& pointer) {
  return {text, text, {{source.reported->report_file, pointer}}};
}

/// Location of a run's figure: in its record, or, without one, in its report.
CellSource find_source(const MeasuredRun& run, const char* in_record, const char* in_report) {
  return run.record_file.empty() ? CellSource{run.report_file, in_report} : CellSource{run.record_file, in_record};
}

/// A cell for a figure of `runs` runs, with its interval; the caller sets text and sources.
TableCell make_measured_cell(const Interval& interval, const std::string& unit, std::size_t runs) {
  TableCell cell;
  cell.value = interval.estimate;
  cell.unit = unit;
  cell.runs = static_cast<std::int64_t>(runs);
  if (interval.bounded) {
    cell.lower = interval.lower;
    cell.upper = interval.upper;
  }
  return cell;
}

/// The centre of one figure over the runs.
TableCell estimate_center(const std::vector<const MeasuredRun*>& runs,
                          const std::function<double(const RunFigures&)>& figure, const char* unit,
                          const char* in_record, const char* in_report) {
  std::vector<double> values;
  for (const MeasuredRun* run : runs) values.push_back(figure(*run->record.figures));
  TableCell cell = make_measured_cell(centre_interval(values, interval_confidence), unit, values.size());
  for (const MeasuredRun* run : runs) cell.sources.push_back(find_source(*run, in_record, in_report));
  return cell;
}

TableCell run_cell(const Source& source) {
  TableCell cell{on_one_line(source.item.name), source.item.name, {}};
  for (const MeasuredRun& run : source.item.runs) cell.sources.push_back(find_source(run, "/case", ""));
  return cell;
}

std::string sample_size(const Report& report) {
  const DataConfig data = restore_config(report).data;
  switch (reads(report)) {
    case DataKind::image:
      return fmt::format(", {} px", data.image_size);
    case DataKind::text:
    case DataKind::tokens:
    case DataKind::parallel:
      return fmt::format(", length {}", data.max_length);
    case DataKind::video:
      return fmt::format(", {} frames", data.max_frames);
    case DataKind::table:
      return {};
  }
  return {};
}

/// "resnet50, fashion-mnist, 28 px"
TableCell work_cell(const Source& source) {
  const Report* report = source.report();
  if (report == nullptr) return nothing_reported();
  return text_cell(source, fmt::format("{}, {}{}", report->model.name, data_name(*report), sample_size(*report)),
                   "/config");
}

TableCell precision_cell(const Source& source) {
  const Report* report = source.report();
  if (report == nullptr) return nothing_reported();
  const AmpReport& amp = report->amp;
  const std::string taken = precision_text(amp);
  return text_cell(source, amp.requested == "auto" ? "auto: " + taken : taken, "/amp");
}

TableCell precision_reason_cell(const Source& source) {
  const Report* report = source.report();
  if (report == nullptr) return nothing_reported();
  if (report->amp.reason.empty()) return nothing("the precision was set, not chosen");
  return text_cell(source, report->amp.reason, "/amp/reason");
}

TableCell batch_cell(const Source& source) {
  const Report* report = source.report();
  if (report == nullptr) return nothing_reported();
  const std::int64_t batch = report->global_batch_size;
  return {std::to_string(batch), batch, {{source.reported->report_file, "/global_batch_size"}}};
}

TableCell speed_cell_by(const Source& source, SpeedEstimator estimator) {
  if (source.good.empty()) return nothing(explain_no_good_run(source.item));
  const bool typical = estimator == SpeedEstimator::typical_step;
  const Interval speed = speed_interval(source.good, estimator);
  TableCell cell = make_measured_cell(speed, source.good.front()->record.figures->unit, source.good.size());
  for (const MeasuredRun* run : source.good) {
    cell.sources.push_back(
        find_source(*run, typical ? "/measured/typical_step_ms" : "/measured/throughput/value", "/throughput/value"));
  }
  cell.text = fmt::format("{:.1f} {}{}", speed.estimate, cell.unit, reach_text(speed));
  return cell;
}

TableCell speed_cell(const Source& source) { return speed_cell_by(source, source.estimator); }
TableCell throughput_cell(const Source& source) { return speed_cell_by(source, SpeedEstimator::samples_over_time); }

TableCell step_cell(const Source& source) {
  if (source.good.empty()) return nothing(explain_no_good_run(source.item));
  TableCell cell = estimate_center(
      source.good, [](const RunFigures& f) { return f.step_ms.p50; }, "ms", "/measured/step_ms/p50",
      "/latency_ms/step/p50");
  const double median = cell.value;
  const double late = estimate_center(
                          source.good, [](const RunFigures& f) { return f.step_ms.p99; }, "ms", "/measured/step_ms/p99",
                          "/latency_ms/step/p99")
                          .value;
  const int digits = median < 100 ? 1 : 0;
  cell.text = fmt::format("{:.{}f} / {:.{}f} ms", median, digits, late, digits);
  return cell;
}

TableCell memory_cell(const Source& source) {
  if (source.ended.empty()) return nothing(explain_no_good_run(source.item));
  TableCell cell = estimate_center(
      source.ended, [](const RunFigures& f) { return static_cast<double>(f.memory_bytes); }, "bytes",
      "/measured/memory_bytes", "/memory/measured_peak_bytes");
  cell.text = fmt::format("{:.0f} MiB", cell.value.get<double>() / (1 << 20));
  return cell;
}

/// " (majority 0.7400)": a reference for the primary metric.
std::string format_reference(const Evaluation& evaluation) {
  std::string text;
  for (const MetricValue& metric : evaluation.metrics) {
    if (metric.kind == MetricKind::reference && metric.value) {
      text += fmt::format(" ({} {})", metric.name, metric.value_text(metric.value));
    }
  }
  return text;
}

/// Location of a run's primary metric.
CellSource find_primary_source(const MeasuredRun& run) {
  const std::string pointer = run.record.figures->evaluation->pointer_to_primary();
  if (run.record_file.empty()) return {run.report_file, pointer};
  return {run.record_file, pointer.starts_with("/measured") ? pointer : "/measured" + pointer};
}

TableCell accuracy_cell(const Source& source) {
  const Quality quality = measure_quality(source.ended);
  if (!quality.metric)
    return nothing(source.ended.empty() ? explain_no_good_run(source.item) : "nothing was evaluated");
  TableCell cell;
  std::string references;  // equal for all runs, which use the same samples
  for (const MeasuredRun* run : source.ended) {
    const MetricValue* primary = find_primary_metric(*run);
    if (primary == nullptr || primary->name != quality.metric->name) continue;
    ++cell.runs;
    cell.sources.push_back(find_primary_source(*run));
    if (run->report && run->report->evaluation) references = format_reference(*run->report->evaluation);
  }
  cell.unit = quality.metric->unit;
  cell.value = quality.mean();
  cell.text = quality_text(quality, source.quality) + references;
  return cell;
}

/// "0.7613: within": the published value, and where it lies beside the seeds' interval.
TableCell published_cell(const Source& source) {
  if (!source.item.published) return nothing("no value was published for it (--published)");
  const PublishedComparison comparison = compare_with_published(source.ended, *source.item.published);
  TableCell cell;
  cell.value = source.item.published->value;
  cell.runs = comparison.seeds;
  cell.text = fmt::format("{:g}: {}", source.item.published->value, to_string(comparison.agreement));
  if (!comparison.metric) return cell;
  cell.unit = comparison.metric->unit;
  if (comparison.agreement != Agreement::unknown) cell.lower = comparison.lower, cell.upper = comparison.upper;
  return cell;
}

/// A figure of the runs that reached train.target, at the `pointer` in a record; `format_value` gives its text.
template <typename Get>
TableCell target_cell(const Source& source, Get get, const std::string& unit, const char* pointer,
                      const char* report_pointer, std::string (*format_value)(double)) {
  std::vector<double> values;
  for (const MeasuredRun* run : source.ended) {
    if (const auto& reached = get(*run->record.figures)) values.push_back(static_cast<double>(*reached));
  }
  if (values.empty())
    return nothing(source.ended.empty() ? explain_no_good_run(source.item) : "no run reached a target");
  const Interval interval = centre_interval(values, interval_confidence);
  TableCell cell = make_measured_cell(interval, unit, values.size());
  cell.text = format_value(interval.estimate) + reach_text(interval);
  if (values.size() < source.ended.size())
    cell.text += fmt::format(", {} of {} runs", values.size(), source.ended.size());
  for (const MeasuredRun* run : source.ended) cell.sources.push_back(find_source(*run, pointer, report_pointer));
  return cell;
}

TableCell time_to_accuracy_cell(const Source& source) {
  return target_cell(
      source, [](const RunFigures& f) { return f.time_to_accuracy; }, "s", "/measured/time_to_accuracy",
      "/time_to_accuracy/seconds", [](double seconds) { return fmt::format("{:.1f} s", seconds); });
}

/// MLPerf's convergence point of a batch size, where runs differ in their seeds.
TableCell samples_to_accuracy_cell(const Source& source) {
  return target_cell(
      source, [](const RunFigures& f) { return f.samples_to_accuracy; }, "samples", "/measured/samples_to_accuracy",
      "/time_to_accuracy/step", [](double samples) { return fmt::format("{:.0f}", samples); });
}

/// A fraction from the report's utilization.
TableCell utilization_cell(const Source& source, std::optional<double> Utilization::*member, const char* pointer) {
  const Report* report = source.report();
  if (report == nullptr) return nothing_reported();
  if (!report->utilization || !(*report->utilization.*member)) return nothing("the device's peak is not known");
  const double share = *(*report->utilization.*member);
  return {fmt::format("{:.0f} %", 100 * share), share, {{source.reported->report_file, pointer}}};
}

TableCell mfu_cell(const Source& source) { return utilization_cell(source, &Utilization::mfu, "/utilization/mfu"); }
TableCell datasheet_cell(const Source& source) {
  return utilization_cell(source, &Utilization::datasheet_mfu, "/utilization/datasheet_mfu");
}

TableCell search_cell(const Source& source) {
  const Report* report = source.report();
  if (report == nullptr) return nothing_reported();
  const double seconds = report->progress.search_seconds;
  return {fmt::format("{:.1f} s", seconds), seconds, {{source.reported->report_file, "/progress/search_seconds"}}};
}

/// "true / false": requested, but without effect.
TableCell flag_cell(const Source& source, const std::string& flag) {
  const Report* report = source.report();
  if (report == nullptr) return nothing_reported();
  const FlagState& state = report->flags.at(flag);
  return text_cell(source, fmt::format("{} / {}", state.requested.dump(), state.effective.dump()), "/flags/" + flag);
}

TableCell exhaustive_search_cell(const Source& source) { return flag_cell(source, "cudnn_exhaustive_search"); }
TableCell persistent_batch_norm_cell(const Source& source) {
  return flag_cell(source, "cudnn_batchnorm_spatial_persistent");
}

TableCell runs_cell(const Source& source) {
  return {fmt::format("{} of {}", source.good.size(), source.item.runs.size()), source.good.size(), {}};
}

TableCell status_cell(const Source& source) {
  std::map<std::string_view, int> counts;
  std::vector<CellSource> sources;
  for (const MeasuredRun& run : source.item.runs) {
    ++counts[to_string(run.record.outcome)];
    sources.push_back(find_source(run, "/status", "/status"));
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts)
    parts.push_back(counts.size() == 1 ? std::string(name) : fmt::format("{} {}", count, name));
  const std::string text = parts.empty() ? "not run" : fmt::format("{}", fmt::join(parts, ", "));
  return {text, text, sources};
}

struct ColumnMaker {
  TableColumn column;
  TableCell (*make)(const Source&);
};

const std::vector<ColumnMaker>& makers() {
  static const std::vector<ColumnMaker> list = {
      {{"run", "Run", false}, run_cell},
      {{"work", "Work", false}, work_cell},
      {{"precision", "Precision", false}, precision_cell},
      {{"precision_reason", "Why this precision", false}, precision_reason_cell},
      {{"batch", "Batch", true}, batch_cell},
      {{"speed", "Speed", true, true}, speed_cell},
      {{"throughput", "Speed (samples over time)", true, true}, throughput_cell},
      {{"step", "Step, p50 / p99", true, true}, step_cell},
      {{"memory", "Peak memory", true, true}, memory_cell},
      {{"accuracy", "Accuracy", true, true}, accuracy_cell},
      {{"published", "Published", true, true}, published_cell},
      {{"time_to_accuracy", "Time to accuracy", true, true}, time_to_accuracy_cell},
      {{"samples_to_accuracy", "Samples to accuracy", true, true}, samples_to_accuracy_cell},
      {{"mfu", "Of peak FLOP/s", true}, mfu_cell},
      {{"datasheet", "Of the data sheet's", true}, datasheet_cell},
      {{"search", "Kernel search", true}, search_cell},
      {{"exhaustive_search", "Exhaustive search, asked / in effect", false}, exhaustive_search_cell},
      {{"persistent_batch_norm", "Persistent batch norm, asked / in effect", false}, persistent_batch_norm_cell},
      {{"runs", "Good runs", true}, runs_cell},
      {{"status", "Status", false}, status_cell},
  };
  return list;
}

const ColumnMaker& find_maker(const std::string& id) {
  std::vector<std::string> known;
  for (const ColumnMaker& maker : makers()) {
    if (maker.column.id == id) return maker;
    known.push_back(maker.column.id);
  }
  fail_usage("--columns: no column {}{} (there are {})", shown(id), did_you_mean(id, known), fmt::join(known, ", "));
}

/// Shows the number of runs in the title where all speeds have the same, else in each cell.
void set_speed_title(Table& table, std::size_t column, SpeedEstimator estimator) {
  std::set<std::int64_t> counts;
  for (const TableRow& row : table.rows) {
    if (row.cells[column].runs > 0) counts.insert(row.cells[column].runs);
  }
  std::string& title = table.columns[column].title;
  title = fmt::format("Speed ({}{})", spelled_out(estimator),
                      counts.size() == 1 ? fmt::format(", n {}", *counts.begin()) : "");
  if (counts.size() < 2) return;
  for (TableRow& row : table.rows) {
    TableCell& cell = row.cells[column];
    if (cell.runs > 0) cell.text += fmt::format(", n {}", cell.runs);
  }
}

/// The primary metrics of all cases' runs.
std::vector<MetricInfo> find_primary_metrics(std::span<const RunSet> sets) {
  std::vector<MetricInfo> metrics;
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) {
      const Quality quality = measure_quality(item.ended());
      if (quality.metric) metrics.push_back(*quality.metric);
    }
  }
  return metrics;
}

/// A single report, or the folder that holds a case's runs.
std::filesystem::path find_link(const MeasuredCase& item) {
  if (item.runs.empty()) return {};
  const MeasuredRun& run = item.runs.front();
  return run.record_file.empty() ? run.report_file : run.record_file.parent_path().parent_path();
}

}  // namespace

const std::vector<TableColumn>& table_columns() {
  static const std::vector<TableColumn> columns = [] {
    std::vector<TableColumn> list;
    for (const ColumnMaker& maker : makers()) list.push_back(maker.column);
    return list;
  }();
  return columns;
}

std::vector<std::string> table_footnotes(const Table& table) {
  RemarkList remarks(table.rows.size());
  for (const TableRow& row : table.rows) {
    std::vector<std::string> reasons;
    for (const TableCell& cell : row.cells) {
      if (cell.missing.empty() || std::ranges::find(reasons, cell.missing) != reasons.end()) continue;
      reasons.push_back(cell.missing);
      remarks.add(on_one_line(row.name), cell.missing);
    }
  }
  return remarks.lines();
}

std::string default_columns() { return "run,precision,batch,speed,step,memory,accuracy"; }

Table make_table(std::span<const RunSet> sets, const std::string& columns) {
  Table table;
  std::vector<const ColumnMaker*> chosen;
  const bool published = std::any_of(sets.begin(), sets.end(), [](const RunSet& set) {
    return std::any_of(set.cases.begin(), set.cases.end(),
                       [](const MeasuredCase& c) { return c.published.has_value(); });
  });
  std::istringstream names(published && columns == default_columns() ? columns + ",published" : columns);
  for (std::string id; std::getline(names, id, ',');) {
    chosen.push_back(&find_maker(id));
    table.columns.push_back(chosen.back()->column);
  }
  const SpeedEstimator estimator = table.estimator = speed_estimator(sets);
  const std::string quality = quality_title(find_primary_metrics(sets));
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) {
      const Source source{item, item.good(), item.ended(), item.reported(), estimator, quality};
      TableRow row{item.name, find_link(item), {}};
      for (const ColumnMaker* maker : chosen) row.cells.push_back(maker->make(source));
      table.rows.push_back(std::move(row));
    }
  }
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].id == "accuracy") table.columns[i].title = quality;
    if (table.columns[i].id == "speed") set_speed_title(table, i, estimator);
    if (table.columns[i].id == "throughput") set_speed_title(table, i, SpeedEstimator::samples_over_time);
  }
  return table;
}

}  // namespace ptrain
