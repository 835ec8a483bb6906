// Opens device, data and model, the first step of every command that trains or evaluates.
#pragma once

#include "core/config/config.h"
#include "core/train/run/workload.h"

namespace ptrain {

/// `device_index`: the GPU, if the device is one. Resolves model.classes from the data if not set, and model.lora from
/// the adapter that it names. Throws Error when the device is unavailable or does not read weights in blocks that
/// model.lora.base needs, the data cannot be read or model and data do not fit.
Workload open_workload(Config& config, int device_index = 0);
/// The same for an evaluation: the data's classes are matched by name with those of model.json beside model.weights.
Workload open_evaluation_workload(Config& config, int device_index = 0);
/// The same without a backend.
Workload open_data_and_model(Config& config);

/// Throws Error{usage} where model.lora.base keeps weights in blocks, which GPUs do not read.
void refuse_block_weights(const Config& config);

}  // namespace ptrain
