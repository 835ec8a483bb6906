#include "tests/catalogs.h"

#include "core/data/registry.h"
#include "core/tasks/find_metric.h"
#include "models/registry.h"

namespace ptrain {

const Catalogs& test_catalogs() {
  static const Catalogs all(model_entries(), data_source_entries(), names_of_metrics);
  return all;
}

}  // namespace ptrain
