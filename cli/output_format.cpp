#include "cli/output_format.h"

#include "core/base/errors.h"
#include "core/base/standard_streams.h"
#include "core/report/schema_check.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {

void FormatOptions::add_to(CLI::App& command) {
  CLI::Option* as_json = command.add_flag("--json", json, "print JSON");
  command.add_flag("--markdown", markdown, "print markdown")->excludes(as_json);
}

std::string document_text(const nlohmann::json& content, const nlohmann::json& schema) {
  const std::string problem = schema_problem(content, schema);
  invariant(problem.empty(), problem.c_str());
  return content.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void print_comparison(const Comparison& comparison, const FormatOptions& format) {
  if (format.json) {
    print_document(comparison);
  } else {
    fmt::print("{}", format.markdown ? comparison_markdown(comparison) : comparison_text(comparison));
  }
  finish_output();
  const ExitCode code = comparison.outcome();
  if (code == ExitCode::regressed) throw Error(code, "slower or less accurate than the base");
  if (code == ExitCode::inconclusive) throw Error(code, "no verdict: inconclusive or not comparable, see above");
}

}  // namespace ptrain
