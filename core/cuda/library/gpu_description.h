// A GPU as cuDNN's device property descriptor describes it, in JSON: the target of compiled plans.
#pragma once

#include <string>

typedef struct cudnnContext* cudnnHandle_t;

namespace ptrain::cuda {

struct GpuDescription {
  std::string json;  // in cuDNN's format
  std::string name;
  int compute_capability = 0;  // 90: 9.0
  int multiprocessors = 0;
  std::string code_properties;  // properties that compiled plans depend on: GPUs with equal ones can share plans
};

/// Throws Error{failed} when `json` is not such a description.
GpuDescription parse_gpu_description(const std::string& json);

/// The JSON of the handle's GPU. Throws Error{failed} when cuDNN does not support it (before 9.8).
std::string describe_gpu(cudnnHandle_t handle);

}  // namespace ptrain::cuda
