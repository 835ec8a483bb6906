#include "cli/catalogs.h"

#include "core/data/registry.h"
#include "core/tasks/registry.h"
#include "models/registry.h"

namespace ptrain {

const Catalogs& catalogs() {
  static const Catalogs all(model_entries(), data_source_entries(), task_entries());
  return all;
}

}  // namespace ptrain
