// Reads reports.
#include "core/base/errors.h"
#include "core/config/value.h"
#include "core/report/json_file.h"
#include "core/report/report.h"
#include "core/report/version_1.h"

namespace ptrain {
namespace {

using nlohmann::json;

/// Members that tables, comparisons and exports read unconditionally.
constexpr const char* needed_members[] = {"/status",
                                          "/message",
                                          "/config_hash",
                                          "/config/seed",
                                          "/config/model/name",
                                          "/config/data/source",
                                          "/config/data/path",
                                          "/config/data/image_size",
                                          "/config/data/max_length",
                                          "/config/data/batch_size",
                                          "/config/dist/ranks",
                                          "/config/train/accumulate_steps",
                                          "/config/train/optimizer/name",
                                          "/config/train/optimizer/lr",
                                          "/config/train/optimizer/weight_decay",
                                          "/config/train/schedule/warmup_steps",
                                          "/environment/time",
                                          "/environment/os",
                                          "/environment/threads",
                                          "/environment/memory_bytes",
                                          "/environment/devices",
                                          "/environment/cpu/model",
                                          "/environment/cpu/usable_cores",
                                          "/environment/cpu/features",
                                          "/environment/ptrain/version",
                                          "/environment/ptrain/commit",
                                          "/amp/level",
                                          "/amp/dtype",
                                          "/model/name",
                                          "/model/parameters",
                                          "/global_batch_size",
                                          "/progress/steps",
                                          "/progress/wall_seconds",
                                          "/progress/setup_seconds",
                                          "/throughput",
                                          "/latency_ms",
                                          "/utilization",
                                          "/memory/planned_peak_bytes",
                                          "/memory/measured_peak_bytes",
                                          "/loss/last",
                                          "/evaluation",
                                          "/evaluations",
                                          "/kernels"};

/// The schema without requirements that later or earlier versions may not meet.
json relax(json schema) {
  schema.erase("required");
  if (schema.value("additionalProperties", json()) == false) schema.erase("additionalProperties");
  for (const char* part : {"properties", "items", "additionalProperties"}) {
    if (!schema.contains(part) || !schema[part].is_object()) continue;
    if (part == std::string_view("properties")) {
      for (auto& [name, child] : schema[part].items()) child = relax(child);
    } else {
      schema[part] = relax(schema[part]);
    }
  }
  return schema;
}

/// Throws Error{failed} naming a key whose value this program cannot have written.
void require_values_of_keys(const std::filesystem::path& path, const json& config) {
  Config scratch;
  for (const Key& key : all_keys()) {
    if (!config.contains(pointer_to(key))) continue;
    const json& value = config.at(pointer_to(key));
    try {
      const bool numeric = key.type == KeyType::integer || key.type == KeyType::number;
      key.set(scratch, numeric ? check_text(key, value.dump(), path.string()) : value);
    } catch (const std::exception&) {  // wrong type, out of range, or an enum value of another version
      fail("{}: config: {}: expected {}, got {}: altered, or of another version of ptrain", path.string(), key.name,
           describe(key), quoted_name(value.dump(-1, ' ', true, json::error_handler_t::replace)));
    }
  }
}

}  // namespace

Report read_report(const std::filesystem::path& path) {
  static const json schema = relax(report_schema()), first_schema = relax(report_schema_version_1());
  json report = read_json(path);
  const bool first = is_of_version_1(report);
  check_document(path, report, first ? first_schema : schema);
  if (first) upgrade_report(report);
  for (const char* needed : needed_members) {
    if (!report.contains(json::json_pointer(needed))) {
      fail("{}: does not fit {}: {} is missing", path.string(), first ? "ptrain.report/1" : "ptrain.report/2", needed);
    }
  }
  require_values_of_keys(path, report.at("config"));
  Report result = read_fields<Report>(report);
  if (first && result.evaluation) result.evaluation->primary_pointer = pointer_in_version_1(*result.evaluation);
  return result;
}

}  // namespace ptrain
