#include "core/analysis/html/run_page.h"

#include "core/analysis/html/elements.h"
#include "core/analysis/op_times.h"
#include "core/config/keys.h"
#include "core/report/json_file.h"

#include <fmt/format.h>

#include <map>

namespace ptrain::html {
namespace {

using nlohmann::json;

/// Adds a row for every key below `value`: "train.optimizer.lr" and its value.
void add_keys(HtmlTable& table, const std::string& path, const json& value) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [name, inner] : value.items()) add_keys(table, path.empty() ? name : path + "." + name, inner);
  } else {
    table.rows.push_back({path, to_text(value)});
  }
}

}  // namespace

std::string headline(const Report& report) {
  std::vector<LargeFigure> figures{
      {std::string(to_string(report.status)),
       fmt::format("after {} of {} steps", report.progress.steps, report.progress.planned_steps)}};
  const MetricValue* const metric = report.evaluation ? report.evaluation->primary() : nullptr;
  if (metric != nullptr && metric->value) {
    figures.push_back({metric->value_text(*metric->value), metric->title + " in the last evaluation"});
  }
  if (report.throughput) {
    figures.push_back(
        {fmt::format("{:.4g}", report.throughput->value), report.throughput->unit + ", samples over time"});
  }
  const std::int64_t peak = report.memory.measured_peak_bytes.value_or(report.memory.planned_peak_bytes);
  if (peak > 0) {
    figures.push_back({fmt::format("{} MiB", peak >> 20),
                       report.memory.measured_peak_bytes ? "memory at its peak" : "memory planned"});
  }
  if (report.utilization && report.utilization->mfu) {
    figures.push_back({fmt::format("{:.0f} %", 100 * *report.utilization->mfu), "of the measured peak FLOP/s"});
  }
  if (report.time_to_accuracy && report.time_to_accuracy->seconds) {
    figures.push_back({fmt::format("{:.1f} s", *report.time_to_accuracy->seconds),
                       fmt::format("until {} {:g}", report.time_to_accuracy->metric, report.time_to_accuracy->target)});
  }
  if (report.gpu && report.gpu->energy_joules_per_sample) {
    figures.push_back({fmt::format("{:.3g} J", *report.gpu->energy_joules_per_sample), "energy of the GPU per sample"});
  }
  return large_figures(figures);
}

std::string op_section(const Report& report) {
  HtmlTable table{"Time of each op in a step",
                  {{"Op"}, {"ms", true}, {"share", true}, {"GFLOP/s", true}, {"GB/s", true}, {"of the roofline", true}},
                  {}};
  const std::vector<OpTime> ops = op_times(report);
  const std::optional<Roof> roof = make_roofline(report);
  double all = 0;
  for (const OpTime& op : ops) all += op.milliseconds;
  for (const OpTime& op : ops) {
    const std::optional<double> least = roof ? least_milliseconds(op, *roof) : std::nullopt;
    table.rows.push_back({op.op, fmt::format("{:.2f}", op.milliseconds),
                          fmt::format("{:.1f} %", 100 * op.milliseconds / all),
                          fmt::format("{:.0f}", op.flops / op.milliseconds * 1e-6),
                          fmt::format("{:.1f}", op.bytes / op.milliseconds * 1e-6),
                          least ? fmt::format("{:.0f} %", 100 * *least / op.milliseconds) : "-"});
  }
  return table_section(table);
}

std::string classification_section(const Report& report) {
  constexpr std::size_t most_listed = 100, most_crossed = 20;
  if (!report.classification || report.classification->classes.size() > most_listed) return {};
  const std::vector<ClassReport>& classes = report.classification->classes;
  HtmlTable each{"Classes of the last evaluation",
                 {{"Class"}, {"samples", true}, {"answers", true}, {"precision", true}, {"recall", true}, {"F1", true}},
                 {}};
  const bool overlaps = std::ranges::any_of(classes, [](const ClassReport& one) { return one.iou.has_value(); });
  if (overlaps) each.columns.push_back({"IoU", true});
  HtmlTable crossed{"Confusion matrix: label by row, prediction by column", {{""}}, {}};
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const ConfusionCell& cell : report.classification->confusion) counts[{cell.label, cell.answer}] = cell.count;
  for (const ClassReport& one : classes) {
    each.rows.push_back({one.name, std::to_string(one.samples), std::to_string(one.answers),
                         fmt::format("{:.4f}", one.precision), fmt::format("{:.4f}", one.recall),
                         fmt::format("{:.4f}", one.f1)});
    if (overlaps) each.rows.back().emplace_back(fmt::format("{:.4f}", one.iou.value_or(0)));
    crossed.columns.push_back({one.name, true});
    std::vector<HtmlCell>& row = crossed.rows.emplace_back();
    row.emplace_back(one.name);
    for (const ClassReport& answer : classes) {
      const std::int64_t count = counts[{one.name, answer.name}];
      row.emplace_back(std::to_string(count));
      if (one.samples > 0) row.back().shade = static_cast<double>(count) / static_cast<double>(one.samples);
    }
  }
  return table_section(each) + (classes.size() <= most_crossed ? table_section(crossed) : std::string{});
}

std::string configuration_section(const Report& report) {
  HtmlTable flags{"Flags", {{"Flag"}, {"requested"}, {"in effect"}, {"why"}}, {}};
  for (const auto& [name, state] : report.flags) {
    flags.rows.push_back({name, to_text(state.requested), to_text(state.effective), state.reason});
  }
  HtmlTable changed{"Settings that differ from the defaults", {{"Key"}, {"Value"}}, {}};
  const json work = describe_changed_work(restore_config(report));
  for (const auto& [key, value] : work.items()) changed.rows.push_back({key, to_text(value)});
  HtmlTable keys{"Configuration", {{"Key"}, {"Value"}}, {}};
  add_keys(keys, "", report.config);
  std::string notes;
  for (const std::string& note : report.notes) notes += paragraph(note, " class=\"note\"");
  if (!report.message.empty()) notes += paragraph(fmt::format("{}: {}", to_string(report.status), report.message));
  return notes + table_section(flags) + table_section(changed) + folded("All settings", table_section(keys));
}

}  // namespace ptrain::html
