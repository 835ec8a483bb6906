#include "core/bench/bench_run.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/bench/child_process.h"
#include "core/io/atomic_file.h"
#include "core/io/mapped_file.h"
#include "core/io/run_files.h"
#include "core/report/environment.h"
#include "core/report/json_file.h"

namespace ptrain {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> make_arguments(const BenchRun& run) {
  std::vector<std::string> words = {"run", run.config.string()};
  for (const Override& item : run.overrides) {
    words.emplace_back("-o");
    words.push_back(fmt::format("{}={}", item.key, item.value));
  }
  for (const char* fixed : {"-o", "output.save=false", "-o", "output.checkpoint_every_steps=0", "--resume", "none",
                            "--progress", "none", "--seed"}) {
    words.emplace_back(fixed);
  }
  words.push_back(std::to_string(run.record.seed));
  words.emplace_back("--output-dir");
  words.push_back(run.folder.string());
  words.emplace_back("--report");
  words.push_back((run.folder / run_files::report).string());
  return words;
}

/// Of a command that ended; a metric that it did not print fails this run, not the sweep.
void set_command_outcome(RunRecord& record, const BenchRun& run, const BenchCommand& command,
                         const FileIdentity& file_before, const ChildResult& child) {
  if (child.code != 0) {
    record.message = fmt::format("exit code {}: {}", child.code, find_last_line(run.folder / "log.txt"));
    return;
  }
  try {
    set_command_figures(record, command, run.steady, run.folder, run.folder / "log.txt", file_before);
    if (record.figures && record.figures->memory_bytes == 0) record.figures->memory_bytes = child.peak_bytes;
  } catch (const Error& error) {
    record.message = error.what();
  }
}

void set_outcome(RunRecord& record, const ChildResult& child, const BenchRun& run, const BenchCommand& command,
                 const FileIdentity& file_before) {
  record.exit_code = child.code;
  record.wall_seconds = child.seconds;
  if (child.end == ChildResult::End::timed_out) {
    record.outcome = RunOutcome::timeout;
    record.message = fmt::format("ended after {:.1f} s (timeout_seconds {})", child.seconds, run.timeout_seconds);
  } else if (child.end == ChildResult::End::signalled) {
    record.message = fmt::format("ended by signal {}{}", child.code - 128,
                                 child.code == 137 ? ", by the kernel when memory ran out?" : "");
  } else if (!run.command.text.empty()) {
    set_command_outcome(record, run, command, file_before, child);
  } else if (fs::exists(run.folder / run_files::report)) {
    set_report_figures(record, run.steady, run.folder);
  } else {
    record.message = fmt::format("exit code {} and no report: {}", child.code, find_last_line(run.folder / "log.txt"));
  }
}

}  // namespace

BenchProgram bench_program(const fs::path& path) {
  const fs::path file = path.empty() ? fs::path("/proc/self/exe") : path;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) fail_usage("{}: no such program", file.string());
  const MappedFile bytes(file);
  const auto* begin = reinterpret_cast<const char*>(bytes.bytes().data());
  BenchProgram program{file, fmt::format("fnv1a64:{:016x}", fnv1a64({begin, bytes.bytes().size()}))};
  bytes.check();
  return program;
}

std::string find_last_line(const fs::path& log) {
  constexpr std::size_t most_bytes = 300;
  const std::string text = read_file(log, WebPages::read);
  const std::size_t last = text.find_last_not_of("\n\r");
  if (last == std::string::npos) return "no output";
  const std::size_t end_before = text.find_last_of("\n\r", last);
  const std::size_t begin = end_before == std::string::npos ? 0 : end_before + 1;
  std::string line = text.substr(begin, std::min(last + 1 - begin, most_bytes));
  if (begin + line.size() <= last) line += "...";
  return line.starts_with("error: ") ? line.substr(7) : line;
}

BenchRun make_bench_run(const Suite& suite, const BenchCase& item, std::int64_t repeat) {
  BenchRun run;
  run.config = suite.config;
  run.overrides = item.overrides;
  run.command = item.command;
  run.timeout_seconds = suite.timeout_seconds;
  run.steady = suite.steady;
  run.environment = item.environment;
  run.record.suite = suite.name;
  run.record.case_name = item.name;
  run.record.settings = item.settings;
  run.record.repeat = repeat;
  run.record.config_hash = item.config_hash;
  run.record.seed = item.seed;
  return run;
}

std::optional<RunRecord> run_once(const BenchProgram& program, const BenchRun& run,
                                  const std::function<bool()>& stopped) {
  std::error_code error;
  fs::remove_all(run.folder, error);
  make_folder(run.folder);
  RunRecord record = run.record;
  record.binary = run.command.text.empty() ? program.hash : "";
  record.started = utc_time();
  const fs::path log = run.folder / "log.txt";
  const bool own = run.command.text.empty();
  const BenchCommand command = fill_run_placeholders(run.command, record, run.folder);
  const FileIdentity file_before = identify_metric_file(command);
  const ChildResult child = run_child(own ? program.path : "/bin/sh",
                                      own ? make_arguments(run) : std::vector<std::string>{"-c", command.text}, log,
                                      run.timeout_seconds, stopped, run.environment, run.command.folder);
  if (child.end == ChildResult::End::stopped) {
    fs::remove_all(run.folder, error);
    return std::nullopt;
  }
  set_outcome(record, child, run, command, file_before);
  if (record.outcome == RunOutcome::ok || record.outcome == RunOutcome::unstable) fs::remove(log, error);
  write_document(record, run.folder / "record.json");
  return record;
}

}  // namespace ptrain
