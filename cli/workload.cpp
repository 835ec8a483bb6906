#include "cli/workload.h"

#include "cli/device.h"
#include "core/train/settings.h"
#include "models/registry.h"

namespace ptrain {

Workload open_workload(Config& config, int device_index) {
  Workload workload = open_data_and_model(config);
  workload.backend = make_backend(config.device, device_index);
  return workload;
}

Workload open_data_and_model(Config& config) {
  Workload workload;
  DataSettings settings = data_settings(config);
  workload.training = open_dataset(settings, Split::train);
  if (config.model.classes == 0) config.model.classes = settings.classes = workload.training->info().classes;
  if (config.eval.any()) workload.evaluation = open_dataset(settings, Split::eval);
  workload.model = make_model(config, workload.training->info());
  return workload;
}

}  // namespace ptrain
