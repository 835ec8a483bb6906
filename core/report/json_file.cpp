#include "core/report/json_file.h"

#include "core/base/errors.h"
#include "core/io/json_text.h"
#include "core/report/schema_check.h"

namespace ptrain {

using nlohmann::json;

json read_json(const std::filesystem::path& path) {
  json content = parse_json(read_file(path));
  if (content.is_discarded())
    fail("{}: not complete JSON (cut short?), or nested deeper than {} levels", path.string(), deepest_json);
  return content;
}

void check_document(const std::filesystem::path& path, const json& content, const json& schema) {
  const std::string wanted = schema.at("title");
  const std::string kind = wanted.substr(0, wanted.find('/') + 1);
  const std::string found =
      content.is_object() && content.contains("schema") && content["schema"].is_string() ? content["schema"] : "";
  if (found != wanted && found.starts_with(kind)) {
    throw Error(ExitCode::inconclusive, fmt::format("{}: is {}, this ptrain reads {}", path.string(), found, wanted));
  }
  if (found != wanted) fail("{}: expected a document of schema {}", path.string(), wanted);
  const std::string problem = schema_problem(content, schema);
  if (!problem.empty()) fail("{}: does not fit {}: {}", path.string(), wanted, problem);
}

json read_document(const std::filesystem::path& path, const json& schema) {
  json content = read_json(path);
  check_document(path, content, schema);
  return content;
}

void write_document(const json& content, const json& schema, const std::filesystem::path& path, Flush flush) {
  if (const std::string problem = schema_problem(content, schema); !problem.empty()) {
    throw std::logic_error(
        fmt::format("internal error: {} does not match its schema: {}", schema.at("title").dump(), problem));
  }
  make_folder(path.parent_path());
  write_file_atomic(path, content.dump(2, ' ', false, json::error_handler_t::replace) + "\n", flush);
}

std::string to_text(const json& value) {
  if (value.is_string()) return value;
  return value.is_null() ? "-" : value.dump();
}

}  // namespace ptrain
