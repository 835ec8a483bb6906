// Whether something launched this process as one rank of several, read from the variables that launchers set.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ptrain {

struct Launch {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;   // among the ranks of this host
  std::string source;   // whose variables say so: "Open MPI", "srun"...
  bool by_mpi = false;  // an MPI launcher's
};

/// The value of an environment variable, if it is set.
using LaunchVariables = std::function<std::optional<std::string>(const char* name)>;

/// Reads the variables of Open MPI, of PMI (MPICH, Intel MPI), of srun, torchrun (RANK, WORLD_SIZE, LOCAL_RANK) and
/// Paddle (PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM). srun's count only where no MPI launcher speaks, whose daemons are
/// srun's tasks. None: nothing launched this process. Throws Error{usage} naming both when two disagree, or a variable
/// that is no number or out of range.
std::optional<Launch> detect_launch(const LaunchVariables& variable);
/// Of this process's environment.
std::optional<Launch> detect_launch();

/// Throws Error{usage} when the launcher and MPI itself count differently.
void require_agreement(const Launch& launch, int mpi_rank, int mpi_world_size);

}  // namespace ptrain
