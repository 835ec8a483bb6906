// Ranks that are processes which mpirun or srun started.
#pragma once

#include "core/comm/transport.h"

#include <memory>

namespace ptrain {

/// Why ranks cannot be processes in this build; empty when they can.
std::string mpi_unavailable_reason();

/// Joins the MPI job that this process is part of. A rank that dies, gives no sign of life or shows no progress for
/// `timeout_seconds` while others wait for it fails the run. Throws Error{failed} with mpi_unavailable_reason().
std::unique_ptr<Transport> make_mpi_transport(double timeout_seconds);

}  // namespace ptrain
