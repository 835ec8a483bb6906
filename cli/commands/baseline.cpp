// ptrain baseline: saves a benchmark's records as a baseline, and checks later records against it.
#include "cli/commands.h"
#include "cli/comparison_options.h"
#include "core/analysis/compare.h"
#include "core/analysis/fingerprint.h"
#include "core/analysis/history/baseline_record.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/standard_streams.h"
#include "core/config/text.h"
#include "core/io/replace_folder.h"
#include "core/report/json_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct BaselineOptions {
  std::string folder;
  std::string name;    // empty: the unnamed baseline
  std::string commit;  // empty: the program's
  bool fresh = false;
  ComparisonOptions comparison;

  fs::path kept() const {
    return fs::path(folder) / (name.empty() ? std::string("baseline") : fmt::format("baseline-{}", folder_name(name)));
  }
};

/// Loads the benchmark. Throws Error{failed} unless `folder` has a good run for every case.
RunSet load_whole_benchmark(const std::string& folder) {
  if (!fs::exists(fs::path(folder) / "suite.json")) fail("{}: no suite.json: not the folder of a benchmark", folder);
  RunSet runs = load_runs(folder);
  for (const MeasuredCase& item : runs.cases) {
    if (item.good().empty()) fail("{}: {}: no good run", folder, item.name);
  }
  return runs;
}

/// Throws Error{usage} where a baseline is there that --fresh was not given to replace.
void require_no_baseline(const BaselineOptions& options) {
  const fs::path kept = options.kept();
  if (options.fresh || !fs::exists(kept)) return;
  std::string label;
  if (fs::exists(kept / baseline_file)) label = read_document<BaselineRecord>(kept / baseline_file).label;
  const bool other = !label.empty() && !options.name.empty() && label != options.name;
  fail_usage("{}: has a baseline already{}; give --fresh to replace it, or another --name", kept.string(),
             other ? fmt::format(", named {}", shown(label)) : "");
}

/// Says where a case has too few good runs for later verdicts.
void note_shortage(const RunSet& runs) {
  const std::int64_t needed = fewest_of_each(SpeedRule{}.confidence);
  for (const MeasuredCase& item : runs.cases) {
    const auto good = static_cast<std::int64_t>(item.good().size());
    if (good >= needed) continue;
    print_error_line(fmt::format("note: {}: {} too few for a verdict of baseline check, which takes {} of each side",
                                 item.name, counted(good, "good run") + (good == 1 ? " is" : " are"), needed));
    return;
  }
}

void save(const BaselineOptions& options) {
  const RunSet runs = load_whole_benchmark(options.folder);
  require_no_baseline(options);
  BaselineRecord record = make_baseline_record(runs);
  record.label = options.name.empty() ? "baseline" : options.name;
  record.saved = utc_time();
  if (!options.commit.empty()) record.commit = options.commit;
  replace_folder(options.kept(), [&](const fs::path& kept) {
    fs::copy_file(fs::path(options.folder) / "suite.json", kept / "suite.json");
    for (const MeasuredCase& item : runs.cases) {
      for (const MeasuredRun& run : item.runs) {
        const fs::path from = run.record_file.parent_path();
        const fs::path to = kept / from.lexically_relative(options.folder);
        fs::create_directories(to);
        fs::copy(from, to, fs::copy_options::recursive);
      }
    }
    write_document(record, kept / baseline_file);
  });
  for (const std::string& note : runs.left_out_notes()) print_error_line("note: " + note);
  note_shortage(runs);
  fmt::print("{}: {} of {}, measured {}\n", options.kept().string(), counted(runs.cases.size(), "case"),
             runs.suite->machine.name, record.measured.text());
}

/// Names of the baselines in a folder, as --name takes them; the unnamed one is "baseline".
std::vector<std::string> list_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const fs::path file = entry.path() / baseline_file;
    if (fs::exists(file)) names.push_back(read_document<BaselineRecord>(file).label);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Throws Error{usage} with the names that exist where there is no baseline of that name.
void require_baseline(const BaselineOptions& options) {
  if (fs::exists(options.kept())) return;
  const std::vector<std::string> names = list_names(options.folder);
  if (names.empty()) {
    fail("{}: no such baseline (create it with ptrain baseline save)", options.kept().string());
  }
  fail_usage("{}: no such baseline{} (there {}: {})", options.kept().string(), did_you_mean(options.name, names),
             names.size() == 1 ? "is" : "are", fmt::join(names, ", "));
}

void check(const BaselineOptions& options) {
  require_baseline(options);
  const RunSet base = load_whole_benchmark(options.kept().string()), now = load_runs(options.folder);
  if (!now.suite) fail("{}: no suite.json: not the folder of a benchmark", options.folder);
  const Fingerprint &before = base.suite->machine, &after = now.suite->machine;
  const CompareRule rule = options.comparison.rule();
  if (before.hash != after.hash && !rule.allows(DifferenceKind::hardware)) {
    throw Error(
        ExitCode::inconclusive,
        fmt::format("the baseline was measured on another machine: {}, this is {} (--allow hardware accepts it)",
                    before.name, after.name));
  }
  options.comparison.print(compare(base, now, rule));
}

void add_common(CLI::App& command, BaselineOptions& options) {
  command.add_option("DIR", options.folder, "folder of a benchmark's records")->required();
  command.add_option("--name", options.name, "name, for several baselines: DIR/baseline-NAME");
}

}  // namespace

void add_baseline_command(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("baseline", "save a benchmark's records, and check later ones against them");
  command->require_subcommand(1);
  command->footer(
      "Example:\n  ptrain bench configs/bench/ci_smoke.yaml --out runs/smoke && ptrain baseline save runs/smoke\n"
      "  ptrain bench configs/bench/ci_smoke.yaml --out runs/smoke --fresh && ptrain baseline check runs/smoke");
  const auto options = std::make_shared<BaselineOptions>();
  CLI::App* saving = command->add_subcommand("save", "copy the records of DIR into DIR/baseline");
  add_common(*saving, *options);
  saving->add_option("--commit", options->commit, "commit that was measured, if not the program's own");
  saving->add_flag("--fresh", options->fresh, "replace a baseline of that name");
  saving->callback([options] { save(*options); });
  CLI::App* checking = command->add_subcommand("check", "compare DIR with DIR/baseline; exit codes of compare");
  add_common(*checking, *options);
  options->comparison.add_to(*checking);
  checking->callback([options] { check(*options); });
}

}  // namespace ptrain
