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

enum class ExchangeKind { all_reduce, all_to_all };

/// A step on one rank.
struct MeasuredStep {
  struct Bucket {
    double ready = 0;  // seconds from the step's start to its last gradient
    double bytes = 0;
    bool blocks = false;  // computing waits for it, as for rows of divided tables
    ExchangeKind kind = ExchangeKind::all_reduce;
  };
  double compute_seconds = 0;   // to the end of backward
  double update_seconds = 0;    // after the exchange
  double stdev_seconds = 0;     // variation between steps
  std::vector<Bucket> buckets;  // in the order of their exchange
};

struct ScaledStep {
  int ranks = 1;
  double step_seconds = 0;
  double exchange_seconds = 0;  // all buckets
  double exposed_seconds = 0;   // not hidden by computing
  double imbalance_seconds =
      0;                  // waiting for the slowest rank: stdev * sqrt(2 ln n), the expected largest of n normals
  double efficiency = 1;  // weak scaling: one rank's step over this one
};

/// A bucket's exchange starts when the bucket is ready and the previous exchange is done; all-reduces use the faster
/// algorithm.
ScaledStep estimate_scaled_step(const MeasuredStep& measured, const Links& links, int ranks);

}  // namespace ptrain
