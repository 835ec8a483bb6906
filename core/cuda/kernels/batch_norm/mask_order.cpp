#include "core/cuda/kernels/batch_norm/mask_order.h"

#include "core/cuda/device/check.h"
#include "core/cuda/kernels/batch_norm/batch_norm_graphs.h"
#include "core/cuda/library/compiled_graph.h"
#include "core/cuda/library/scratch.h"

namespace ptrain::cuda {
namespace {

bool try_mask(Device& device) {
  const TensorDesc x{DType::f16, {2, 8, 8, 64}};
  CudnnGraph graph =
      batch_norm_graph(device.cudnn_target(), {.activation = Activation::relu}, x, /*has_residual=*/true);
  if (graph.plan({.workspace_limit = std::size_t{1} << 24}) || !graph.build(0)) return false;
  const ScratchTensors tensors(device, graph.bound());
  const ScratchMemory workspace(device, graph.workspace_bytes(0), DType::u8);
  graph.run(0, tensors.pointers(), workspace.data());

  std::vector<f16> y(static_cast<std::size_t>(x.count()));
  std::vector<std::uint8_t> mask(y.size() / 8);
  const auto read = [&](void* to, const void* from, std::size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, device.stream()));
  };
  constexpr std::size_t y_place = 4;  // index among the bound tensors
  read(y.data(), tensors.pointers()[y_place], y.size() * sizeof(f16));
  read(mask.data(), tensors.pointers().back(), mask.size());
  CUDA_CHECK(cudaStreamSynchronize(device.stream()));
  for (std::size_t i = 0; i < y.size(); ++i) {
    if ((mask[i / 8] >> i % 8 & 1) != (static_cast<float>(y[i]) > 0)) return false;
  }
  return true;
}

}  // namespace

bool numbers_masks_alike(Device& device) {
  if (device.is_described()) return true;
  std::optional<bool>& known = device.planned_graphs().numbers_masks_alike;
  if (!known) known = try_mask(device);
  return *known;
}

}  // namespace ptrain::cuda
