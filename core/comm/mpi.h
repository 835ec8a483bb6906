// Ranks that are processes started by mpirun or srun.
#pragma once

#include "core/comm/transport.h"

#include <memory>

namespace ptrain {

/// Why this build does not support ranks as processes; empty when it does.
std::string mpi_unavailable_reason();

/// Joins the MPI job of this process. A rank that dies, sends no heartbeat or shows no progress for `timeout_seconds`
/// while others wait for it fails the run. Throws Error{failed} with mpi_unavailable_reason().
std::unique_ptr<Transport> make_mpi_transport(double timeout_seconds);

}  // namespace ptrain
