// Collectives between GPUs.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/collectives.h"

#include <memory>

namespace ptrain::cuda {

/// Exchanges by NCCL, on a stream separate from the device's; `host` finds the other ranks and aborts hanging
/// operations when one of them fails. Both must outlive it.
std::shared_ptr<Collectives> make_nccl_collectives(const Device& device, HostCollectives& host);

}  // namespace ptrain::cuda
