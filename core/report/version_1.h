// Documents of version 1, whose accuracy was a fixed list of figures, read as those of version 2.
#pragma once

#include "core/report/metric.h"

#include <nlohmann/json.hpp>

#include <string>

namespace ptrain {

/// Whether the document's schema is version 1 of its kind.
bool is_of_version_1(const nlohmann::json& document);

/// The schema of `ptrain.report/1`.
nlohmann::json report_schema_version_1();

/// Turns a report that fits it into one of version 2.
void upgrade_report(nlohmann::json& report);

/// The figures of version 1 by name, null where they were, as an evaluation of version 2. Classes, values and running
/// text each had figures of their own, by which they are told apart.
nlohmann::json upgrade_evaluation(const nlohmann::json& accuracy);

/// Where a report of version 1 holds an evaluation's primary metric.
std::string pointer_in_version_1(const Evaluation& evaluation);

}  // namespace ptrain
