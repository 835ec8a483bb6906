// Replaces mpi.cpp in builds without MPI.
#include "core/base/errors.h"
#include "core/comm/mpi.h"

namespace ptrain {

std::string mpi_unavailable_reason() {
  return "this ptrain was built without MPI (libopenmpi-dev): ranks can only be threads of one process";
}

std::unique_ptr<Transport> make_mpi_transport(double) { fail("{}", mpi_unavailable_reason()); }

}  // namespace ptrain
