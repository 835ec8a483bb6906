#include "cli/output_format.h"

#include "core/base/errors.h"
#include "core/report/schema_check.h"

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

}  // namespace ptrain
