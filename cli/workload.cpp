#include "cli/workload.h"

#include "cli/device.h"
#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/train/settings.h"
#include "models/registry.h"

namespace ptrain {

Workload open_workload(const Config& config) {
  if (config.dist.ranks > 1)
    fail_usage("dist.ranks: {} were asked for, but this version trains on one", config.dist.ranks);
  if (config.threads > 0) set_thread_count(static_cast<int>(config.threads));
  Workload workload;
  workload.backend = make_backend(config.device);
  const DataSettings settings = data_settings(config);
  workload.training = open_dataset(settings, Split::train);
  if (config.eval.every_epochs > 0) workload.evaluation = open_dataset(settings, Split::eval);
  workload.model = make_model(config, workload.training->info());
  return workload;
}

}  // namespace ptrain
