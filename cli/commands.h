// Every command of ptrain. Each has its own file, which adds the command with options and a callback to the program. A
// callback that fails throws Error, whose code the program returns.
#pragma once

#include <CLI/CLI.hpp>

namespace ptrain {

/// Each adds its command to `program`: name, options, help and callback.
void add_init_command(CLI::App& program);
void add_run_command(CLI::App& program);
void add_eval_command(CLI::App& program);
void add_estimate_command(CLI::App& program);
void add_validate_command(CLI::App& program);
void add_list_command(CLI::App& program);
void add_schema_command(CLI::App& program);
void add_doctor_command(CLI::App& program);
void add_data_command(CLI::App& program);
void add_bench_command(CLI::App& program);
void add_bisect_command(CLI::App& program);
void add_effects_command(CLI::App& program);
void add_compare_command(CLI::App& program);
void add_table_command(CLI::App& program);
void add_export_report_command(CLI::App& program);
void add_baseline_command(CLI::App& program);
void add_history_command(CLI::App& program);
void add_infer_command(CLI::App& program);
void add_export_command(CLI::App& program);
void add_quantize_command(CLI::App& program);
void add_serve_command(CLI::App& program);
void add_runs_command(CLI::App& program);
void add_show_command(CLI::App& program);
void add_completion_command(CLI::App& program);
void add_man_command(CLI::App& program);
/// Added to `bench`, after that command.
void add_bench_comm_command(CLI::App& program);
void add_bench_infer_command(CLI::App& program);

}  // namespace ptrain
