// Collectives between GPUs.
#pragma once

#include "core/dist/communicator.h"
#include "core/exec/backend.h"

#include <memory>

namespace ptrain {

/// All-reduces on the backend's device by NCCL, on a stream of their own beside the backend's; `host` finds the other
/// ranks and ends what hangs when one of them fails. Both must outlive it. Throws Error{failed} in builds without NCCL.
std::unique_ptr<Collectives> make_nccl_collectives(Backend& backend, Communicator& host);

}  // namespace ptrain
