#include "tests/test_catalogs.h"

#include "core/data/source_registry.h"
#include "core/tasks/task_registry.h"
#include "models/model_registry.h"

namespace ptrain {

const Catalogs& test_catalogs() {
  static const Catalogs all(model_entries(), data_source_entries(), task_entries());
  return all;
}

}  // namespace ptrain
