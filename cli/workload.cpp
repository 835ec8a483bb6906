#include "cli/workload.h"

#include "cli/device.h"
#include "core/train/settings.h"
#include "models/registry.h"

namespace ptrain {

Workload open_workload(const Config& config, int device_index) {
  Workload workload;
  workload.backend = make_backend(config.device, device_index);
  const DataSettings settings = data_settings(config);
  workload.training = open_dataset(settings, Split::train);
  if (config.eval.every_epochs > 0) workload.evaluation = open_dataset(settings, Split::eval);
  workload.model = make_model(config, workload.training->info());
  return workload;
}

}  // namespace ptrain
