// The program: passes the command line to a command, and turns an error into one line and an exit code.
#include "cli/commands.h"
#include "core/base/denormals.h"
#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/base/signals.h"
#include "core/base/standard_streams.h"
#include "core/config/text.h"
#include "core/report/build_info.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

namespace ptrain {
namespace {

constexpr void (*command_adders[])(CLI::App&) = {
    add_run_command,        add_eval_command,     add_infer_command,      add_export_command,
    add_quantize_command,   add_estimate_command, add_validate_command,   add_list_command,
    add_schema_command,     add_doctor_command,   add_data_command,       add_bench_command,
    add_effects_command,    add_compare_command,  add_table_command,      add_export_report_command,
    add_baseline_command,   add_history_command,  add_bench_comm_command, add_bench_infer_command,
    add_completion_command, add_man_command,      add_serve_command,      add_runs_command,
    add_show_command,       add_init_command,     add_bisect_command,
};

constexpr const char* help_footer =
    "ptrain help COMMAND is COMMAND --help.\n"
    "Example:\n"
    "  ptrain run configs/resnet50.yaml -o train.epochs=2 --amp O1\n"
    "Exit codes: 0 done; 1 failed while running; 2 command line or configuration; 3 training diverged;\n"
    "  4 slower or less accurate, 5 inconclusive (compare, baseline check, history, bisect);\n"
    "  130, 143 interrupted (128 and the signal).";

/// Reports an unknown command better than CLI11, which only says that an argument or a subcommand was unexpected.
void reject_unknown_command(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* above = &program;
  for (const std::string& word : words) {
    if (word.starts_with('-') || above->get_require_subcommand_min() == 0) break;
    std::vector<std::string> names;
    const CLI::App* found = nullptr;
    for (const CLI::App* command : above->get_subcommands({})) {
      names.push_back(command->get_name());
      if (names.back() == word) found = command;
    }
    if (found == nullptr) {
      fail_usage("unknown command {}{} ({} --help lists them)", shown(word), did_you_mean(word, names),
                 above == &program ? "ptrain" : "ptrain " + above->get_name());
    }
    above = found;
  }
}

/// Rejects the first of the unparsed options that the command does not have.
void reject_unknown_option(const CLI::App& program) {
  const CLI::App* command = &program;
  std::string path = "ptrain";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (std::string word : program.remaining(true)) {
    if (!word.starts_with('-')) continue;
    word.resize(std::min(word.find('='), word.size()));
    fail_usage("unknown option {}{} ({} --help lists them)", shown(word), did_you_mean(word, known), path);
  }
}

/// Has every command refuse an empty argument, which is a shell's variable that is not set. The inputs of infer may be
/// empty texts.
void refuse_empty_arguments(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || option->get_single_name() == "INPUT") continue;
    option->check([](const std::string& argument) {
      return argument.empty() ? std::string("expected a path or a name, got \"\"") : std::string();
    });
  }
  for (CLI::App* below : command.get_subcommands({})) refuse_empty_arguments(*below);
}

/// Turns "help run" into "run --help", and the name that a command had in 0.1.0 into that of today.
std::vector<std::string> collect_arguments(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (!words.empty() && words.front() == "plan") words.front() = "estimate";
  return words;
}

int run_program(int argc, char** argv) {
  CLI::App program("Trains reference models and reports how fast, in how much memory and how well.", "ptrain");
  const BuildInfo build = build_info();
  program.set_version_flag("--version", fmt::format("ptrain {} {}", build.version, build.commit));
  program.footer(help_footer);
  program.require_subcommand(1);
  for (const auto add : command_adders) add(program);
  refuse_empty_arguments(program);
  try {
    std::vector<std::string> words = collect_arguments(argc, argv);
    if (words.empty()) fail_usage("expected a command (ptrain --help lists them)");
    reject_unknown_command(program, words);
    std::reverse(words.begin(), words.end());  // in CLI11's order
    program.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
    reject_unknown_option(program);
    std::string line = error.what();
    line.resize(std::min(line.find('\n'), line.size()));
    fail_usage("{}", line);
  }
  return static_cast<int>(ExitCode::ok);
}

int complain(ExitCode code, std::string_view message) {
  print_error_line(fmt::format("error: {}", message));
  return static_cast<int>(code);
}

}  // namespace
}  // namespace ptrain

int main(int argc, char** argv) {
  using ptrain::ExitCode;
  // Return freed buffers of 1 MiB and more to the system; glibc would raise this threshold dynamically and keep them.
  ptrain::open_standard_streams();
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  ptrain::flush_denormals();  // before any thread starts
  try {
    ptrain::give_signals_a_thread();
    ptrain::keep_to_cpu_quota();
    const int code = ptrain::run_program(argc, argv);
    ptrain::finish_output();
    return code;
  } catch (const ptrain::Error& error) {
    return ptrain::complain(error.code(), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return ptrain::complain(ptrain::ExitCode::failed,
                            fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::system_error& error) {  // thrown by printing
    if (error.code() == std::errc::broken_pipe) return static_cast<int>(ExitCode::ok);
    return ptrain::complain(ExitCode::failed, error.what());
  } catch (const std::bad_alloc&) {
    return ptrain::complain(ExitCode::failed, "out of memory");
  } catch (const std::exception& error) {
    return ptrain::complain(ExitCode::failed, error.what());
  }
}
