#include "core/train/run/output_folder.h"

#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/config/keys.h"
#include "core/config/text.h"
#include "core/io/checkpoint.h"
#include "core/io/run_files.h"
#include "core/io/weights_file.h"
#include "core/report/json_file.h"
#include "core/report/report.h"
#include "core/runtime/model_artifact.h"
#include "core/runtime/model_folder.h"

#include <array>
#include <optional>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

bool has_metrics(const fs::path& folder) {
  std::error_code error;
  const auto size = fs::file_size(folder / run_files::metrics, error);
  return !error && size > 0;
}

/// The report that would be overwritten, if its run completed a step or an evaluation.
std::optional<Report> earlier_report(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  try {
    Report report = read_report(file);
    if (report.progress.steps == 0 && !report.evaluation) return std::nullopt;
    return report;
  } catch (const Error&) {  // from another program or version: not to be overwritten either
    return std::optional<Report>(std::in_place);
  }
}

bool resumes_here(const std::string& resume, const fs::path& folder) {
  if (resume == "none") return false;
  std::error_code error;
  return resume == "auto" || fs::equivalent(fs::path(resume).parent_path(), folder, error);
}

/// "train.steps was 20, is 60"; empty if everything that defines the work is equal.
std::string differences(const Report& earlier, const Config& config) {
  if (earlier.config.is_null()) return {};
  const bool settled = earlier.amp.requested == "auto" && !config.amp.level;
  const nlohmann::json before = describe_work(restore_config(earlier)), now = describe_work(config);
  std::string text;
  for (const auto& [key, value] : now.items()) {
    if (before[key] == value || (settled && (key == "amp.level" || key == "amp.dtype"))) continue;
    if (key == "model.classes" && config.model.classes == 0) continue;                   // taken from the data
    if (key.starts_with("model.lora.") && !config.model.lora.weights.empty()) continue;  // taken from the adapter
    add_change(text, key, to_text(before[key]), to_text(value));
  }
  return text;
}

/// "a run of 20 steps (ok, 2025-01-31T12:00:00Z)"
std::string description(const std::optional<Report>& report) {
  if (!report || report->config.is_null()) return "an earlier run";
  return fmt::format("a run of {} ({}, {})", counted(report->progress.steps, "step"), to_string(report->status),
                     report->environment.time);
}

void remove_earlier(const OutputConfig& output) {
  const fs::path folder = output.dir, best = folder / run_files::best;
  for (const fs::path& file : {report_path(output), folder / run_files::metrics}) fs::remove(file);
  remove_model(folder);
  if (fs::exists(best / model_files::document)) fs::remove_all(best);
  remove_checkpoints(folder);
}

/// Files beside the model that a run removes or replaces.
constexpr std::array beside_model{run_files::start, run_files::predictions, run_files::trace, run_files::tensorboard,
                                  run_files::visualdl};

bool has_run(const OutputConfig& output) {
  std::error_code error;
  return fs::exists(report_path(output), error) || find_run_file(output.dir).has_value();
}

/// A file that the run would replace, although no earlier run left it there.
std::optional<fs::path> find_foreign_file(const OutputConfig& output) {
  const fs::path folder = output.dir;
  const bool is_run = has_run(output);
  for (const fs::path& place : {folder, folder / run_files::best}) {
    if (is_run && is_unfinished_model(place)) continue;
    if (auto file = is_run ? find_foreign_model_file(place) : find_model_file(place)) return file;
  }
  std::error_code error;
  for (const char* name : beside_model) {
    if (!is_run && fs::exists(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

void require_no_foreign_file(const OutputConfig& output) {
  if (const auto file = find_foreign_file(output)) {
    fail_usage(
        "output.dir: {} would be overwritten, and is not of an earlier run there; give another --out, or move it "
        "away",
        file->string());
  }
}

/// The weights that the run starts from stay, whatever is deleted.
void require_other_weights(const Config& config) {
  if (config.model.weights.empty()) return;
  const fs::path folder = config.output.dir, weights = find_weights_file(config.model.weights);
  std::vector<fs::path> written;
  for (const std::uint64_t step : list_checkpoints(folder)) written.push_back(checkpoint_path(folder, step));
  for (const std::string_view name : list_model_names()) {
    written.push_back(folder / name);
    written.push_back(folder / run_files::best / name);
  }
  std::error_code error;
  for (const fs::path& file : written) {
    if (!fs::equivalent(file, weights, error)) continue;
    fail_usage("output.dir: the run starts from model.weights {}, and would replace them; give another --out",
               file.string());
  }
}

void refuse_earlier(const Config& config, OutputUse use) {
  const bool trains = use == OutputUse::training, resumes = resumes_here(config.resume, config.output.dir);
  if (trains && resumes) {
    if (config.output.fresh) fail_usage("output.fresh: deletes what --resume would continue; give one of them");
    if (list_checkpoints(config.output.dir).empty()) require_no_foreign_file(config.output);
    return;
  }
  if (config.output.fresh) {
    if (!trains) return;
    require_no_foreign_file(config.output);
    remove_earlier(config.output);
    return;
  }
  const bool checkpoints = trains && !list_checkpoints(config.output.dir).empty();
  const std::optional<Report> report = earlier_report(report_path(config.output));
  if (!report && !checkpoints && (resumes || !has_metrics(config.output.dir))) {
    if (trains) require_no_foreign_file(config.output);
    return;
  }
  const std::string differs = report ? differences(*report, config) : "";
  fail_usage("{}: has {}{}; --fresh replaces it{}, another {} keeps it", config.output.dir, description(report),
             differs.empty() ? "" : fmt::format(", which differs: {}", differs),
             trains ? ", --resume auto continues it" : "", trains ? "--out" : "--out or --report");
}

}  // namespace

fs::path report_path(const OutputConfig& output) {
  return output.report.empty() ? fs::path(output.dir) / run_files::report : fs::path(output.report);
}

void claim_output(const Config& config, OutputUse use) {
  if (use == OutputUse::training) require_other_weights(config);
  refuse_earlier(config, use);
  if (use != OutputUse::training) return;
  // Predictions are from other weights than the run's final ones.
  for (const char* name : beside_model) fs::remove(fs::path(config.output.dir) / name);
}

}  // namespace ptrain
