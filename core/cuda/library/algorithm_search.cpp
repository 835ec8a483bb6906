#include "core/cuda/library/algorithm_search.h"

#include "core/cuda/device/event_timer.h"
#include "core/cuda/library/scratch.h"
#include "core/exec/autotune.h"

namespace ptrain::cuda {

std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, const Device& device,
                                      std::vector<std::unique_ptr<Kernel>> candidates) {
  EventTimer timer(device);
  std::vector<ScratchMemory> memory;
  return ptrain::choose_kernel(context, std::move(candidates), timer, [&](const TensorDesc& desc) {
    return memory.emplace_back(device, desc.bytes(), desc.dtype).data();
  });
}

}  // namespace ptrain::cuda
