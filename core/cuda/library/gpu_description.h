// A GPU as cuDNN's device property descriptor describes it, in JSON: what plans are compiled for.
#pragma once

#include <string>

typedef struct cudnnContext* cudnnHandle_t;

namespace ptrain::cuda {

struct GpuDescription {
  std::string json;  // as cuDNN gives and takes it
  std::string name;
  int compute_capability = 0;  // 90: 9.0
  int multiprocessors = 0;
  std::string code_properties;  // what compiled plans depend on: GPUs of which it is equal can share them
};

/// Throws Error{failed} when `json` is no such description.
GpuDescription parse_gpu_description(const std::string& json);

/// The JSON of the handle's GPU. Throws Error{failed} when cuDNN cannot tell (before 9.8).
std::string describe_gpu(cudnnHandle_t handle);

}  // namespace ptrain::cuda
