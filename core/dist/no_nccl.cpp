// Stands in for NCCL in builds without it.
#include "core/base/errors.h"
#include "core/dist/nccl.h"

namespace ptrain {

std::unique_ptr<Collectives> make_nccl_collectives(Backend&, Communicator&) {
  fail("this ptrain was built without NCCL (libnccl-dev): several ranks can only train on the CPU");
}

}  // namespace ptrain
