#include "core/train/run/start_ranks.h"

#include "core/base/counted.h"
#include "core/base/parallel.h"
#include "core/base/standard_streams.h"
#include "core/base/threads.h"
#include "core/comm/cores.h"
#include "core/comm/launch.h"
#include "core/comm/mpi.h"
#include "core/comm/rank_failure.h"
#include "core/comm/thread_transport.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace ptrain {
namespace {

// Multiples of dist.timeout_seconds: until a silent rank is given up, and then until ranks that are still working are
// ended.
constexpr double detection_share = 0.7;
constexpr double grace_share = 0.2;
// Ranks as threads, beyond which a mistake is likelier than patience.
constexpr int most_per_core = 64;

/// For a rank that cannot be reached any more: ends without destructors and without waiting.
[[noreturn]] void end_process(const std::string& message) {
  print_error_line("error: " + message);
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(ExitCode::failed));
}

CommunicatorOptions communicator_options(const DistConfig& dist) {
  return {grace_share * static_cast<double>(dist.timeout_seconds), end_process};
}

double detection_seconds(const DistConfig& dist) { return detection_share * static_cast<double>(dist.timeout_seconds); }

/// With more than one rank an error names its rank.
[[noreturn]] void rethrow_named(const Error& error, const Communicator& communicator) {
  if (communicator.world_size() == 1) throw error;
  throw Error(error.code(), fmt::format("rank {} on {}: {}", communicator.rank(),
                                        communicator.transport().rank_host(communicator.rank()), error.what()));
}

void run_as_process(const LoadedConfig& loaded, const Launch& launch, const RankWork& work) {
  if (const std::string reason = mpi_unavailable_reason(); !reason.empty()) {
    fail_usage("{} started {} ranks, but {}", launch.source, launch.world_size, reason);
  }
  auto transport = make_mpi_transport(detection_seconds(loaded.config.dist));
  require_agreement(launch, transport->rank(), transport->world_size());
  LoadedConfig mine = loaded;
  mine.config.dist.ranks = launch.world_size;
  if (loaded.is_set("dist.ranks") && loaded.config.dist.ranks != launch.world_size) {
    mine.notes.push_back(fmt::format("{}: dist.ranks: ignored, {} started {}", loaded.origins.at("dist.ranks"),
                                     launch.source, launch.world_size));
  }
  // A launcher that binds its processes has already divided the cores.
  const int local_ranks = transport->local_world_size();
  const std::vector<int> cores = usable_cores();
  const bool bound = cores.size() < machine_cores();
  if (!bound && local_ranks > 1) stay_on_cores(share_of_cores(cores, launch.local_rank % local_ranks, local_ranks));
  if (bound) keep_to_cpu_quota(local_ranks);
  mine = with_threads(std::move(mine), std::max(1, threads_of_all(loaded.config.threads) / (bound ? 1 : local_ranks)));
  Communicator communicator(std::move(transport), communicator_options(loaded.config.dist));
  try {
    work(mine, &communicator);
  } catch (const RankFailure&) {
    throw;
  } catch (const Error& error) {
    rethrow_named(error, communicator);
  }
}

/// The error to report out of several: an original one rather than a consequence.
std::exception_ptr find_original_error(const std::vector<std::exception_ptr>& failures) {
  std::exception_ptr any;
  for (const std::exception_ptr& failure : failures) {
    if (!failure) continue;
    if (!any) any = failure;
    try {
      std::rethrow_exception(failure);
    } catch (const RankFailure&) {
      continue;
    } catch (...) {
      return failure;
    }
  }
  return any;
}

void run_as_threads(const LoadedConfig& loaded, const RankWork& work) {
  const auto ranks = static_cast<int>(loaded.config.dist.ranks);
  if (const int most = most_per_core * machine_cores(); ranks > most) {
    fail_usage(
        "{}: dist.ranks: expected at most {} as threads of one process, {} for each core, got {}; mpirun or srun "
        "starts processes on several machines",
        loaded.origins.at("dist.ranks"), most, most_per_core, ranks);
  }
  auto transports = make_thread_transports(ranks, detection_seconds(loaded.config.dist));
  const std::vector<int> cores = usable_cores();
  const int threads = std::max(1, threads_of_all(loaded.config.threads) / ranks);
  std::vector<std::exception_ptr> failures(transports.size());
  const auto run = [&](std::size_t rank) {
    try {
      stay_on_cores(share_of_cores(cores, static_cast<int>(rank), ranks));
      const LoadedConfig mine = with_threads(loaded, threads);
      Communicator communicator(std::move(transports[rank]), communicator_options(loaded.config.dist));
      work(mine, &communicator);
    } catch (...) {
      failures[rank] = std::current_exception();
    }
  };
  run_together(transports.size(), run);
  if (const std::exception_ptr failure = find_original_error(failures)) std::rethrow_exception(failure);
}

}  // namespace

LoadedConfig with_threads(LoadedConfig loaded, int threads) {
  const int granted = set_thread_count(threads);
  if (granted < threads) {
    loaded.notes.push_back(
        fmt::format("threads: {} instead of {}: OpenMP grants no more; unset OMP_THREAD_LIMIT and "
                    "OMP_MAX_ACTIVE_LEVELS, and raise ulimit -u, to use all",
                    granted, threads));
  }
  const auto cores = static_cast<int>(usable_cores().size());
  if (granted > cores) {
    loaded.notes.push_back(fmt::format("threads: {} share {}, which is slower than a thread for each core", granted,
                                       counted(cores, "usable core")));
  }
  return loaded;
}

int threads_of_all(std::int64_t configured) { return configured > 0 ? static_cast<int>(configured) : thread_count(); }

void on_every_rank(const LoadedConfig& loaded, const RankWork& work) {
  const Config& config = loaded.config;
  const std::optional<Launch> launch = detect_launch();
  const bool threads_only = config.dist.mode == DistMode::parallel_graph;
  if (launch && launch->world_size > 1 && threads_only) {
    fail_usage("dist.mode: parallel_graph runs all ranks in one process, but {} started {}", launch->source,
               launch->world_size);
  }
  if (!launch && config.dist.mode == DistMode::multi_process) {
    fail_usage("dist.mode: multi_process needs a launcher: mpirun -np {} ptrain ...", config.dist.ranks);
  }
  const bool alone = !launch || (launch->world_size == 1 && !launch->by_mpi);
  if (!alone && !threads_only) return run_as_process(loaded, *launch, work);
  if (config.dist.ranks > 1) return run_as_threads(loaded, work);
  work(with_threads(loaded, threads_of_all(config.threads)), nullptr);
}

void on_ranks(std::int64_t ranks, const std::function<void(Communicator&)>& work) {
  LoadedConfig loaded;
  loaded.config.dist.ranks = ranks;
  loaded.origins["dist.ranks"] = "default";
  on_every_rank(loaded, [&](const LoadedConfig&, Communicator* communicator) {
    if (communicator == nullptr) fail_usage("--ranks: expected at least 2, one rank exchanges nothing");
    work(*communicator);
  });
}

}  // namespace ptrain
