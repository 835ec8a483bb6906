// cuDNN's description of a GPU. In a file of its own, since emulated libraries have none.
#include "core/base/errors.h"
#include "core/cuda/device/check.h"
#include "core/cuda/library/gpu_description.h"

#include <cudnn.h>

#include <memory>

namespace ptrain::cuda {

std::string describe_gpu(cudnnHandle_t handle) {
#if CUDNN_VERSION >= 90800
  cudnnBackendDescriptor_t created = nullptr;
  CUDNN_CHECK(cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &created));
  const std::unique_ptr<void, cudnnStatus_t (*)(void*)> properties(created, cudnnBackendDestroyDescriptor);
  CUDNN_CHECK(cudnnBackendSetAttribute(created, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
  CUDNN_CHECK(cudnnBackendFinalize(created));
  std::int64_t size = 0;
  CUDNN_CHECK(
      cudnnBackendGetAttribute(created, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, &size, nullptr));
  std::string json(static_cast<std::size_t>(size), ' ');
  CUDNN_CHECK(cudnnBackendGetAttribute(created, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, size, &size,
                                       json.data()));
  while (!json.empty() && json.back() == '\0') json.pop_back();
  return json;
#else
  static_cast<void>(handle);
  fail("cuDNN describes GPUs from 9.8 on");
#endif
}

}  // namespace ptrain::cuda
