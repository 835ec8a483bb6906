#include "core/analysis/html/run_page.h"

#include "core/analysis/html/elements.h"
#include "core/analysis/html/run_figures.h"
#include "core/report/json_file.h"

#include <fmt/format.h>

namespace ptrain::html {
namespace {

using nlohmann::json;

/// "train.optimizer.lr" and its value, of every key below `value`.
void add_keys(HtmlTable& table, const std::string& path, const json& value) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [name, inner] : value.items()) add_keys(table, path.empty() ? name : path + "." + name, inner);
  } else {
    table.rows.push_back({path, text_of(value)});
  }
}

}  // namespace

std::string op_section(const Report& report) {
  HtmlTable table{"Time of each op in a step",
                  {{"Op"}, {"ms", true}, {"share", true}, {"GFLOP/s", true}, {"GB/s", true}, {"of the roofline", true}},
                  {}};
  const std::vector<OpTime> ops = op_times(report);
  const std::optional<Roof> roof = roof_of(report);
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

std::string configuration_section(const Report& report) {
  HtmlTable flags{"Flags", {{"Flag"}, {"asked for"}, {"in effect"}, {"why"}}, {}};
  for (const auto& [name, state] : report.flags) {
    flags.rows.push_back({name, text_of(state.requested), text_of(state.effective), state.reason});
  }
  HtmlTable keys{"Configuration", {{"Key"}, {"Value"}}, {}};
  add_keys(keys, "", report.config);
  std::string notes;
  for (const std::string& note : report.notes) notes += paragraph(note, " class=\"note\"");
  if (!report.message.empty()) notes += paragraph(fmt::format("{}: {}", name_of(report.status), report.message));
  return notes + table_section(flags) + table_section(keys);
}

}  // namespace ptrain::html
