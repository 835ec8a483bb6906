#include "cli/open_workload.h"

#include "cli/open_device.h"
#include "core/base/errors.h"
#include "core/train/settings.h"
#include "models/model_registry.h"

namespace ptrain {

Workload open_workload(Config& config, int device_index) {
  if (config.device.gpu && config.dist.ranks > 1) {
    fail_usage(
        "device: {} is one GPU, but dist.ranks is {}; expected cuda, so that each rank uses the GPU of its index",
        to_string(config.device), config.dist.ranks);
  }
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
