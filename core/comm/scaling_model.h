// Estimates the training step time on more ranks than are available, from one rank's measurements and the links' data.
//
// An all-reduce of S bytes over n ranks takes, by the standard latency-bandwidth model (Thakur, Rabenseifner and Gropp,
// "Optimization of collective communication operations in MPICH", 2005; Sanders, Speck and Träff, "Two-tree algorithms
// for full bandwidth broadcast, reduction and scan", 2009):
//   ring  2 (n - 1) latency + 2 (n - 1) / n S / bandwidth
//   tree  2 log2(n) latency + 2 (n - 1) / n S / bandwidth  (two trees, each half of the data)
// where hops between nodes have the latency between nodes, and the bandwidth is that of the slowest kind of link used.
//
// An all-to-all in which a rank sends S bytes, as many to each of n ranks, takes (the pairwise exchange of the first):
//   (n - 1) latency + the longer of
//     S / n for each rank of its node / bandwidth inside, and, for all ranks of a node, S / n for each of others /
//     between
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

struct Link {
  double latency = 0;    // seconds per hop
  double bandwidth = 0;  // bytes/s, in each direction, that an all-reduce reaches (nccl-tests' bus bandwidth)
};

struct Links {
  int ranks_per_node = 1;
  Link inside;   // between ranks of a node
  Link between;  // between nodes: total of a node's adapters
};

/// Reads ranks_per_node, inside_node and between_nodes, each {latency_us, bandwidth_gb_s}, from YAML.
/// Throws Error{usage} naming the file and what is missing or not positive.
Links load_links(const std::filesystem::path& file);

enum class AllReduceAlgorithm { ring, tree };

/// Seconds of one all-reduce of `bytes`: the algorithm's hops and its bytes over the slowest link.
double all_reduce_seconds(const Links& links, int ranks, double bytes, AllReduceAlgorithm algorithm);

/// Seconds of one all-to-all in which each rank sends `bytes`, its own part of them included.
double all_to_all_seconds(const Links& links, int ranks, double bytes);

/// What happens between the ranks at a moment of a step.
enum class StepEventKind { all_reduce, all_to_all, wait };

/// A step on one rank.
struct MeasuredStep {
  struct Event {
    double at = 0;  // seconds of computing from the step's start
    StepEventKind kind = StepEventKind::all_reduce;
    double bytes = 0;  // that it starts to exchange; a wait is for all that were started, in this step or before
  };
  double seconds = 0;         // computing, the update included
  double stdev_seconds = 0;   // variation between steps
  double slowest = 1;         // of one of the ranks: how many times as long it computes
  std::vector<Event> events;  // in their order
};

struct ScaledStep {
  int ranks = 1;
  double step_seconds = 0;
  double exchange_seconds = 0;   // of all exchanges of a step
  double exposed_seconds = 0;    // not hidden by computing
  double imbalance_seconds = 0;  // waiting for slower ranks
  double efficiency = 1;         // weak scaling: one rank's step over this one
};

/// Goes through many steps of all ranks (4,096 of more). An exchange starts when all ranks have come to it and the one
/// before is done; all-reduces use the faster algorithm. Each step of each rank is longer or shorter by a normal
/// deviate of the measured variation, drawn from a fixed seed, and those of a slow rank by its factor.
ScaledStep estimate_scaled_step(const MeasuredStep& measured, const Links& links, int ranks);

}  // namespace ptrain
