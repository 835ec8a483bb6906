#include "core/comm/launch.h"

#include "core/base/errors.h"

#include <charconv>
#include <cstdlib>

namespace ptrain {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  bool is_mpi;
};

constexpr Launcher launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", true},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", true},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", false},
    {"Paddle", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_RANK_IN_NODE", false},
};
// A batch script has SLURM_PROCID too; only tasks of srun have the step's variables.
constexpr Launcher srun = {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", false};

int parse_number(const char* name, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    fail_usage("environment {}: expected a whole number from 0 on, got \"{}\"", name, text);
  }
  return value;
}

std::optional<Launch> read(const Launcher& launcher, const LaunchVariables& variable) {
  const auto rank = variable(launcher.rank), size = variable(launcher.world_size);
  if (!size) return std::nullopt;
  if (!rank) fail_usage("environment {} is {}, but {} is not set", launcher.world_size, *size, launcher.rank);
  Launch launch{parse_number(launcher.rank, *rank), parse_number(launcher.world_size, *size), 0, launcher.name,
                launcher.is_mpi};
  if (launch.rank >= launch.world_size) {
    fail_usage("environment {}: {} is not below {} {}", launcher.rank, launch.rank, launcher.world_size,
               launch.world_size);
  }
  if (const auto local = variable(launcher.local_rank)) launch.local_rank = parse_number(launcher.local_rank, *local);
  return launch;
}

void agree(const Launch& a, const Launch& b) {
  if (a.rank == b.rank && a.world_size == b.world_size) return;
  fail_usage("{} says this is rank {} of {}, but {} says rank {} of {}: start ptrain with one launcher", a.source,
             a.rank, a.world_size, b.source, b.rank, b.world_size);
}

}  // namespace

std::optional<Launch> detect_launch(const LaunchVariables& variable) {
  std::optional<Launch> found;
  for (const Launcher& launcher : launchers) {
    const std::optional<Launch> launch = read(launcher, variable);
    if (!launch) continue;
    if (found) {
      agree(*found, *launch);
    } else {
      found = launch;
    }
  }
  if (found && found->by_mpi) return found;
  const std::optional<Launch> by_srun = read(srun, variable);
  if (found && by_srun) agree(*found, *by_srun);
  return found ? found : by_srun;
}

std::optional<Launch> detect_launch() {
  return detect_launch([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

void require_agreement(const Launch& launch, int mpi_rank, int mpi_world_size) {
  if (launch.world_size > 1 && mpi_world_size == 1) {
    fail_usage(
        "{} says there are {} ranks, but MPI has started this process alone: use mpirun, or srun with an MPI that "
        "knows Slurm (srun --mpi=pmix)",
        launch.source, launch.world_size);
  }
  agree(launch, {mpi_rank, mpi_world_size, 0, "MPI", true});
}

}  // namespace ptrain
