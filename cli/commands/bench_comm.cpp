// ptrain bench comm: bandwidth of all-reduces between the ranks of a machine or of an MPI job.
#include "cli/commands.h"
#include "cli/open_device.h"
#include "core/base/errors.h"
#include "core/comm/bench.h"
#include "core/config/device_choice.h"
#include "core/train/run/start_ranks.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

namespace ptrain {
namespace {

struct CommOptions {
  std::int64_t ranks = 2;
  std::int64_t from = 4 << 10;
  std::int64_t to = 64 << 20;
  std::string device = "cpu";
  bool json = false;
};

void show(const CommOptions& options, const std::string& engine, int ranks, const std::vector<AllReduceRate>& rates) {
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const AllReduceRate& rate : rates) {
      list.push_back({{"bytes", rate.bytes},
                      {"iterations", rate.iterations},
                      {"seconds", rate.seconds},
                      {"algorithm_bandwidth", rate.algorithm_bandwidth},
                      {"bus_bandwidth", rate.bus_bandwidth}});
    }
    fmt::print("{}\n", nlohmann::json{{"engine", engine}, {"ranks", ranks}, {"all_reduce", list}}.dump(2));
    return;
  }
  fmt::print("all-reduce of fp32 sums, {} ranks by {}; bandwidths as nccl-tests defines them\n", ranks, engine);
  fmt::print("{:>12} {:>12} {:>14} {:>14}\n", "bytes", "us", "algbw GB/s", "busbw GB/s");
  for (const AllReduceRate& rate : rates) {
    fmt::print("{:>12} {:>12.1f} {:>14.3f} {:>14.3f}\n", rate.bytes, rate.seconds * 1e6,
               rate.algorithm_bandwidth * 1e-9, rate.bus_bandwidth * 1e-9);
  }
}

void measure(const CommOptions& options, Communicator& communicator) {
  const auto backend = make_backend(device_of_option("--device", options.device), communicator.local_rank());
  const std::shared_ptr<Collectives> collectives = backend->make_collectives(communicator);
  std::vector<AllReduceRate> rates;
  for (std::int64_t bytes = options.from; bytes <= options.to; bytes *= 4) {
    communicator.barrier();
    rates.push_back(measure_all_reduce(*collectives, *backend, bytes));
  }
  communicator.close();
  if (communicator.rank() != 0) return;
  show(options, std::string(collectives->engine()), communicator.world_size(), rates);
}

void bench_comm(const CommOptions& options) {
  if (options.from > options.to) fail_usage("--from: {} bytes exceed --to {}", options.from, options.to);
  on_ranks(options.ranks, [&](Communicator& communicator) { measure(options, communicator); });
}

}  // namespace

void add_bench_comm_command(CLI::App& program) {
  CLI::App* command = program.get_subcommand("bench")->add_subcommand("comm", "bandwidth of all-reduces between ranks");
  const auto options = std::make_shared<CommOptions>();
  command->add_option("--ranks", options->ranks, "number of threads, unless a launcher started ptrain")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command->add_option("--from", options->from, "smallest buffer, bytes")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 34))
      ->capture_default_str();
  command->add_option("--to", options->to, "largest buffer, bytes; each is four times the previous one")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 34))
      ->capture_default_str();
  command->add_option("--device", options->device, "device of the buffers")
      ->capture_default_str()
      ->type_name("auto|cpu|cuda");
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example:\n  ptrain bench comm --ranks 2\n  mpirun -np 4 ptrain bench comm --json");
  command->callback([options] { bench_comm(*options); });
}

}  // namespace ptrain
