// Detects from the environment whether a launcher started this process as one rank of several.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ptrain {

struct Launch {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;   // among the ranks of this host
  std::string source;   // the launcher: "Open MPI", "srun"...
  bool by_mpi = false;  // by an MPI launcher
};

/// Looks up an environment variable, if it is set.
using LaunchVariables = std::function<std::optional<std::string>(const char* name)>;

/// Reads the variables of Open MPI, of PMI (MPICH, Intel MPI), of srun, torchrun (RANK, WORLD_SIZE, LOCAL_RANK) and
/// Paddle (PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM). srun's count only without an MPI launcher, since its daemons are
/// srun's tasks. None: no launcher. Throws Error{usage} naming both when two disagree, or a variable that is not a
/// number or out of range.
std::optional<Launch> detect_launch(const LaunchVariables& variable);
/// The same for this process's environment.
std::optional<Launch> detect_launch();

/// Throws Error{usage} when the launcher and MPI itself disagree.
void require_agreement(const Launch& launch, int mpi_rank, int mpi_world_size);

}  // namespace ptrain
