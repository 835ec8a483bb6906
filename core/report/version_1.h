// Upgrades documents of version 1, whose accuracy was a fixed list of figures, to version 2.
#pragma once

#include "core/report/metric.h"

#include <nlohmann/json.hpp>

#include <string>

namespace ptrain {

/// Whether the document's schema is version 1 of its kind.
bool is_of_version_1(const nlohmann::json& document);

/// The schema of `ptrain.report/1`.
nlohmann::json report_schema_version_1();

/// Upgrades a report that fits the schema to version 2.
void upgrade_report(nlohmann::json& report);

/// Upgrades the figures of version 1 by name, null where they were. Classes, values and running text had different
/// figures, which identify the task.
nlohmann::json upgrade_evaluation(const nlohmann::json& accuracy);

/// JSON pointer of an evaluation's primary metric in a report of version 1.
std::string pointer_in_version_1(const Evaluation& evaluation);

}  // namespace ptrain
