// Linked into a test program that reads configurations: they know models, data sources and metrics before main, as a
// program's do in main.
#include "core/data/registry.h"
#include "core/tasks/find_metric.h"
#include "models/registry.h"

namespace ptrain {
namespace {

[[maybe_unused]] const bool known = [] {
  use_models(model_entries());
  use_data_sources(data_source_entries());
  use_metric_names(names_of_metrics);
  return true;
}();

}  // namespace
}  // namespace ptrain
