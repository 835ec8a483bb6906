#include "core/analysis/html/page.h"

#include "core/analysis/html/charts.h"
#include "core/analysis/html/style.h"
#include "core/analysis/speed.h"
#include "core/io/atomic_file.h"
#include "core/report/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>

namespace ptrain {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMostPoints = 240;  // of a curve

struct PageCase {
  std::string label;  // in charts, which are narrow
  std::vector<const MeasuredRun*> good;
  const MeasuredRun* reported;  // null: no report to draw curves from

  const Report* report() const { return reported == nullptr ? nullptr : &*reported->report; }
};

std::vector<PageCase> cases_of(std::span<const RunSet> sets) {
  std::vector<PageCase> cases;
  for (const RunSet& set : sets) {
    for (const MeasuredCase& item : set.cases) {
      if (auto good = item.good(); !good.empty()) cases.push_back({item.name, std::move(good), item.reported()});
    }
  }
  return cases;
}

/// Where all cases are settings of the same several axes, these settings alone become the labels; returns the paragraph
/// that names the axes, else nothing.
std::string shorten_labels(std::span<const RunSet> sets, std::vector<PageCase>& cases) {
  if (sets.empty() || !sets.front().suite) return "";
  const std::vector<SuiteAxis>& axes = sets.front().suite->axes;
  const auto has_axes = [&](const RunSet& set) { return set.suite && set.suite->axes == axes; };
  if (axes.size() < 2 || !std::all_of(sets.begin(), sets.end(), has_axes)) return "";
  std::vector<std::string> names;
  for (const SuiteAxis& axis : axes) names.push_back(axis.label);
  for (PageCase& item : cases) {
    std::vector<std::string> values;
    for (const SuiteAxis& axis : axes) values.push_back(text_of(item.good.front()->record.settings.at(axis.key)));
    item.label = fmt::format("{}", fmt::join(values, ", "));
  }
  return fmt::format("<p>In the charts: {}</p>\n", html::escaped(fmt::format("{}", fmt::join(names, ", "))));
}

std::string section(const std::string& title, const std::string& content) {
  if (content.empty()) return "";
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", html::escaped(title), content);
}

std::string throughput_chart(const std::vector<PageCase>& cases, SpeedEstimator estimator) {
  std::vector<html::Bar> bars;
  for (const PageCase& item : cases) {
    const Interval interval = speed_interval(item.good, estimator);
    html::Bar bar;
    bar.label = item.label;
    bar.value = interval.estimate;
    bar.text = fmt::format("{:.1f} {}{}, n {}", interval.estimate, item.good.front()->record.figures->unit,
                           reach_text(interval), item.good.size());
    if (interval.bounded) {
      bar.lower = interval.lower;
      bar.upper = interval.upper;
    }
    bars.push_back(std::move(bar));
  }
  return html::bar_chart(bars, "Throughput of each case with its 95 % interval");
}

std::string memory_chart(const std::vector<PageCase>& cases) {
  std::vector<html::Bar> bars;
  for (const PageCase& item : cases) {
    std::vector<double> bytes;
    for (const MeasuredRun* run : item.good) bytes.push_back(static_cast<double>(run->record.figures->memory_bytes));
    const double mib = centre_interval(bytes, kSpeedConfidence).estimate / (1 << 20);
    bars.push_back({item.label, fmt::format("{:.0f} MiB", mib), mib, {}, {}});
  }
  return html::bar_chart(bars, "Peak memory of each case");
}

std::string step_chart(const std::vector<PageCase>& cases) {
  std::vector<html::Sample> samples;
  for (const PageCase& item : cases) {
    html::Sample sample{item.label, {}};
    for (const MeasuredRun* run : item.good) {
      const auto warmup = static_cast<std::size_t>(run->record.steady.warmup_steps);
      for (std::size_t i = warmup; i < run->step_ms.size(); ++i) sample.values.push_back(run->step_ms[i]);
    }
    if (!sample.values.empty()) samples.push_back(std::move(sample));
  }
  return samples.empty() ? "" : html::distribution_chart(samples, "ms", "Step times of each case");
}

/// Mean of neighbouring points, so that a long run's curve stays small.
html::Series thinned(const html::Series& all) {
  const std::size_t part = (all.x.size() + kMostPoints - 1) / kMostPoints;
  if (part <= 1) return all;
  html::Series thin{all.label, {}, {}};
  for (std::size_t i = 0; i < all.x.size(); i += part) {
    const std::size_t count = std::min(part, all.x.size() - i);
    const auto mean = [&](const std::vector<double>& v) {
      return std::accumulate(v.begin() + static_cast<std::ptrdiff_t>(i),
                             v.begin() + static_cast<std::ptrdiff_t>(i + count), 0.0) /
             static_cast<double>(count);
    };
    thin.x.push_back(mean(all.x));
    thin.y.push_back(mean(all.y));
  }
  return thin;
}

/// Training loss by step, of the first good run, where its metrics lie beside its report.
std::string loss_chart(const std::vector<PageCase>& cases) {
  std::vector<html::Series> curves;
  for (const PageCase& item : cases) {
    html::Series curve{item.label, {}, {}};
    if (item.reported == nullptr) continue;
    const fs::path metrics = item.reported->report_file.parent_path() / "metrics.jsonl";
    if (!fs::exists(metrics)) continue;
    std::istringstream lines(read_file(metrics));
    for (std::string line; std::getline(lines, line);) {
      const json entry = json::parse(line, nullptr, false);
      if (!entry.is_object() || !entry.contains("loss") || !entry["loss"].is_number()) continue;
      curve.x.push_back(entry.value("step", 0.0));
      curve.y.push_back(entry["loss"]);
    }
    if (!curve.x.empty()) curves.push_back(thinned(curve));
  }
  return curves.empty() ? "" : html::line_chart(curves, "step", "Training loss by step");
}

std::string accuracy_chart(const std::vector<PageCase>& cases) {
  std::vector<html::Series> curves;
  for (const PageCase& item : cases) {
    html::Series curve{item.label, {}, {}};
    if (item.report() == nullptr) continue;
    for (const EvaluationReport& evaluation : item.report()->evaluations) {
      if (!evaluation.accuracy.top1) continue;
      curve.x.push_back(static_cast<double>(evaluation.step));
      curve.y.push_back(*evaluation.accuracy.top1);
    }
    if (!curve.x.empty()) curves.push_back(std::move(curve));
  }
  return curves.empty() ? "" : html::line_chart(curves, "step", "Top-1 accuracy by step");
}

/// Time by op; the seven largest over all cases, and the rest as one.
std::string op_chart(const std::vector<PageCase>& cases) {
  std::vector<std::map<std::string, double>> times;
  std::map<std::string, double> totals;
  std::vector<std::string> names;
  for (const PageCase& item : cases) {
    std::map<std::string, double> by_op;
    if (item.report() == nullptr) continue;
    for (const KernelReport& kernel : item.report()->kernels) {
      if (kernel.milliseconds <= 0) continue;
      by_op[kernel.op] += kernel.milliseconds;
      totals[kernel.op] += kernel.milliseconds;
    }
    if (by_op.empty()) continue;
    times.push_back(std::move(by_op));
    names.push_back(item.label);
  }
  if (times.empty()) return "";
  std::vector<std::string> ops;
  for (const auto& [op, ms] : totals) ops.push_back(op);
  std::sort(ops.begin(), ops.end(), [&](const auto& a, const auto& b) { return totals[a] > totals[b]; });
  const std::size_t shown = std::min<std::size_t>(7, ops.size());
  std::vector<html::ShareRow> rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    html::ShareRow row{names[i], {}};
    double rest = 0;
    for (std::size_t k = 0; k < ops.size(); ++k) {
      const auto found = times[i].find(ops[k]);
      const double ms = found == times[i].end() ? 0 : found->second;
      if (k < shown) row.parts.push_back({ops[k], ms});
      if (k >= shown) rest += ms;
    }
    if (ops.size() > shown) row.parts.push_back({"others", rest});
    rows.push_back(std::move(row));
  }
  return html::share_chart(rows, "Share of each op in the time of a step");
}

/// `text`, which a line may also end after a comma of.
std::string breakable(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == ',') result += "<wbr>";
  }
  return result;
}

std::string table_html(const Table& table, const fs::path& from) {
  const TableDocument content = table_document(table, from);
  std::string head, body;
  for (const TableColumn& column : table.columns) {
    head += fmt::format("<th{}>{}</th>", column.numeric ? " class=\"n\"" : "", html::escaped(column.title));
  }
  for (const RowDocument& row : content.rows) {
    body += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const CellDocument& cell = row.cells[i];
      const std::string text = html::escaped(cell.text);
      std::string files;
      for (const SourceDocument& s : cell.sources) files += fmt::format("{}#{}\n", s.file, s.pointer);
      const bool linked = table.columns[i].id == "run" && !row.link.empty();
      body += fmt::format(
          "<td{} title=\"{}\">{}</td>", table.columns[i].numeric ? " class=\"n\"" : "", html::escaped(files),
          linked ? fmt::format("<a href=\"{}\">{}</a>", html::escaped(row.link), breakable(text)) : text);
    }
    body += "</tr>\n";
  }
  return fmt::format("<section class=\"wide\"><table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></section>\n",
                     head, body);
}

/// What and where: the suite, the machine, the program.
std::string heading(std::span<const RunSet> sets, const std::vector<PageCase>& cases) {
  std::string title = "ptrain", about;
  for (const RunSet& set : sets) {
    if (!set.suite) continue;
    title = set.suite->suite;
    about = set.suite->about;
  }
  std::string machine;
  if (!cases.empty() && cases.front().report() != nullptr) {
    const EnvironmentReport& e = cases.front().report()->environment;
    machine = fmt::format("{}, threads: {}, {}; ptrain {} {}; {}", e.cpu.model, e.threads, e.os, e.ptrain.version,
                          e.ptrain.commit, e.time);
  }
  std::string text = fmt::format("<h1>{}</h1>\n", html::escaped(title));
  for (const std::string& line : {about, machine}) {
    if (!line.empty()) text += fmt::format("<p>{}</p>\n", html::escaped(line));
  }
  return text;
}

}  // namespace

std::string html_page(std::span<const RunSet> sets, const Table& table, const fs::path& from) {
  std::vector<PageCase> cases = cases_of(sets);
  const std::string key = shorten_labels(sets, cases);
  std::string charts;
  if (!cases.empty()) {
    const SpeedEstimator estimator = speed_estimator(sets);
    charts += section(fmt::format("Throughput ({}), with its 95 % interval", name_of(estimator)),
                      throughput_chart(cases, estimator));
    charts += section("Step time after warm-up, all runs", step_chart(cases));
    charts += section("Training loss", loss_chart(cases));
    charts += section("Top-1 accuracy", accuracy_chart(cases));
    charts += section("Peak memory", memory_chart(cases));
    charts += section("Time by op", op_chart(cases));
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>ptrain benchmark</title>\n"
      "<style>{}</style></head>\n<body><main>\n{}{}{}<div class=\"charts\">\n{}</div>\n</main></body></html>\n",
      html::kStyle, heading(sets, cases), table_html(table, from), key, charts);
}

}  // namespace ptrain
