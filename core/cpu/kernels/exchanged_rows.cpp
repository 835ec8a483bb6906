// The exchanges of a divided table (core/ops/sparse/exchanged_rows.h). Rows travel in rounds of RowExchange::chunk for
// each pair of ranks; all ranks know how many rounds the largest pair needs.
#include "core/ops/sparse/exchanged_rows.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace ptrain::cpu {
namespace {

Collectives& require_collectives(const KernelContext& context) {
  invariant(context.collectives != nullptr, "a graph with exchanges is compiled without collectives");
  return *context.collectives;
}

/// Consecutive items of each rank, of which a round has a chunk.
class RankParts {
 public:
  RankParts(const std::int32_t* counts, int ranks, std::int64_t chunk)
      : counts_(counts, counts + ranks), chunk_(chunk) {
    begins_.resize(counts_.size());
    std::exclusive_scan(counts_.begin(), counts_.end(), begins_.begin(), std::int64_t{0});
  }

  std::int64_t begin(int rank, std::int64_t round = 0) const {
    return begins_[static_cast<std::size_t>(rank)] + round * chunk_;
  }
  std::int64_t count(int rank, std::int64_t round = 0) const {
    return std::clamp<std::int64_t>(counts_[static_cast<std::size_t>(rank)] - round * chunk_, 0, chunk_);
  }

 private:
  std::vector<std::int64_t> counts_, begins_;
  std::int64_t chunk_;
};

/// Rounds of rows that a rank asks others for and that it is asked for.
struct RowRounds {
  RankParts asked, received;
  std::int64_t count;
};

RowRounds find_rounds(const RowExchange& sizes, const void* counts, const void* received_counts) {
  const int ranks = sizes.shard.world_size;
  const auto* asked = static_cast<const std::int32_t*>(counts);
  const auto* received = static_cast<const std::int32_t*>(received_counts);
  const std::int64_t chunk = sizes.chunk();
  return {{asked, ranks, chunk}, {received, ranks, chunk}, (received[ranks] + chunk - 1) / chunk};
}

template <typename T>
std::span<std::byte> bytes_at(T* items, std::int64_t begin, std::int64_t count) {
  return std::as_writable_bytes(std::span(items + begin, static_cast<std::size_t>(count)));
}

AllToAll make_exchange(int ranks) {
  AllToAll exchange;
  exchange.sent.resize(static_cast<std::size_t>(ranks));
  exchange.received.resize(static_cast<std::size_t>(ranks));
  return exchange;
}

class ExchangeIdsKernel final : public Kernel {
 public:
  explicit ExchangeIdsKernel(const KernelContext& context)
      : collectives_(require_collectives(context)),
        sizes_(context.op_as<ExchangeIds>().attrs()),
        id_bytes_(static_cast<std::int64_t>(element_size(context.inputs[ExchangeIds::unique].dtype))),
        told_(static_cast<std::size_t>(sizes_.shard.world_size)),
        heard_(told_.size()) {}

  void run(const KernelArgs& args) override {
    const auto* counts = static_cast<const std::int32_t*>(args.inputs[ExchangeIds::counts]);
    auto* received_counts = static_cast<std::int32_t*>(args.outputs[ExchangeIds::received_counts]);
    exchange_counts(counts, received_counts);
    const int ranks = sizes_.shard.world_size;
    const RankParts sent(counts, ranks, sizes_.most()), received(received_counts, ranks, sizes_.most());
    auto* ids = static_cast<std::byte*>(args.inputs[ExchangeIds::unique]);
    auto* received_ids = static_cast<std::byte*>(args.outputs[ExchangeIds::received]);
    AllToAll exchange = make_exchange(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      exchange.sent[at] = bytes_at(ids, sent.begin(rank) * id_bytes_, sent.count(rank) * id_bytes_);
      exchange.received[at] =
          bytes_at(received_ids, received.begin(rank) * id_bytes_, received.count(rank) * id_bytes_);
    }
    collectives_.start_all_to_all(std::move(exchange));
    collectives_.wait_all_reduces();
  }

 private:
  /// What a rank tells another: how many ids it asks it for, and the most that it asks anyone for.
  struct Counts {
    std::int32_t asked, most;
  };

  void exchange_counts(const std::int32_t* counts, std::int32_t* received_counts) {
    const int ranks = sizes_.shard.world_size;
    const std::int32_t most = *std::max_element(counts, counts + ranks);
    AllToAll exchange = make_exchange(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      told_[at] = {counts[rank], most};
      exchange.sent[at] = bytes_at(told_.data(), rank, 1);
      exchange.received[at] = bytes_at(heard_.data(), rank, 1);
    }
    collectives_.start_all_to_all(std::move(exchange));
    collectives_.wait_all_reduces();
    received_counts[ranks] = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Counts& heard = heard_[static_cast<std::size_t>(rank)];
      received_counts[rank] = heard.asked;
      received_counts[ranks] = std::max(received_counts[ranks], heard.most);
    }
  }

  Collectives& collectives_;
  RowExchange sizes_;
  std::int64_t id_bytes_;
  std::vector<Counts> told_, heard_;
};

template <typename Id>
class ExchangeRowsKernel final : public Kernel {
 public:
  explicit ExchangeRowsKernel(const KernelContext& context)
      : collectives_(require_collectives(context)),
        sizes_(context.op_as<ExchangeRows>().attrs()),
        width_(context.outputs[ExchangeRows::rows].shape[1]) {}

  void run(const KernelArgs& args) override {
    const RowRounds rounds =
        find_rounds(sizes_, args.inputs[ExchangeRows::counts], args.inputs[ExchangeRows::received_counts]);
    const auto* ids = static_cast<const Id*>(args.inputs[ExchangeRows::received]);
    const auto* table = static_cast<const float*>(args.inputs[ExchangeRows::table]);
    auto* rows = static_cast<float*>(args.outputs[ExchangeRows::rows]);
    auto* sent = static_cast<float*>(args.outputs[ExchangeRows::sent]);
    for (std::int64_t round = 0; round < rounds.count; ++round) {
      AllToAll exchange = make_exchange(sizes_.shard.world_size);
      for (int rank = 0; rank < sizes_.shard.world_size; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        const std::int64_t asked = rounds.asked.count(rank, round), found = rounds.received.count(rank, round);
        float* const to = rows + rounds.asked.begin(rank, round) * width_;
        const bool own = rank == sizes_.shard.rank;
        float* const from = own ? to : sent + rank * sizes_.chunk() * width_;
        look_up(table, ids + rounds.received.begin(rank, round), found, from);
        if (own) continue;
        exchange.sent[at] = bytes_at(from, 0, found * width_);
        exchange.received[at] = bytes_at(to, 0, asked * width_);
      }
      collectives_.start_all_to_all(std::move(exchange));
      collectives_.wait_all_reduces();
    }
  }

 private:
  void look_up(const float* table, const Id* ids, std::int64_t count, float* rows) const {
    parallel_for(count, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::copy_n(table + sizes_.shard.local(ids[i]) * width_, width_, rows + i * width_);
      }
    });
  }

  Collectives& collectives_;
  RowExchange sizes_;
  std::int64_t width_;
};

class ExchangeGradientKernel final : public Kernel {
 public:
  explicit ExchangeGradientKernel(const KernelContext& context)
      : collectives_(require_collectives(context)),
        sizes_(context.op_as<ExchangeGradient>().attrs()),
        width_(context.outputs[ExchangeGradient::values].shape[1]) {}

  void run(const KernelArgs& args) override {
    const RowRounds rounds =
        find_rounds(sizes_, args.inputs[ExchangeGradient::counts], args.inputs[ExchangeGradient::received_counts]);
    auto* gradient = static_cast<float*>(args.inputs[ExchangeGradient::gradient]);
    auto* arrived = static_cast<float*>(args.outputs[ExchangeGradient::arrived]);
    const auto* numbers = static_cast<const std::int32_t*>(args.inputs[ExchangeGradient::numbers]);
    auto* values = static_cast<float*>(args.outputs[ExchangeGradient::values]);
    const std::int64_t used = *static_cast<const std::int32_t*>(args.inputs[ExchangeGradient::used]);
    std::fill_n(values, used * width_, 0.0f);
    for (std::int64_t round = 0; round < rounds.count; ++round) {
      AllToAll exchange = make_exchange(sizes_.shard.world_size);
      std::vector<const float*> sources;
      for (int rank = 0; rank < sizes_.shard.world_size; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        float* const from = gradient + rounds.asked.begin(rank, round) * width_;
        const bool own = rank == sizes_.shard.rank;
        float* const to = own ? from : arrived + rank * sizes_.chunk() * width_;
        sources.push_back(to);
        if (own) continue;
        exchange.sent[at] = bytes_at(from, 0, rounds.asked.count(rank, round) * width_);
        exchange.received[at] = bytes_at(to, 0, rounds.received.count(rank, round) * width_);
      }
      exchange.then = [=, this, sources = std::move(sources)] { add(rounds, round, sources, numbers, values); };
      collectives_.start_all_to_all(std::move(exchange));
    }
  }

 private:
  /// Adds up what the ranks have sent in a round.
  void add(const RowRounds& rounds, std::int64_t round, const std::vector<const float*>& sources,
           const std::int32_t* numbers, float* values) const {
    for (int rank = 0; rank < sizes_.shard.world_size; ++rank) {
      const float* from = sources[static_cast<std::size_t>(rank)];
      const std::int32_t* places = numbers + rounds.received.begin(rank, round);
      for (std::int64_t i = 0; i < rounds.received.count(rank, round); ++i) {
        float* sum = values + places[i] * width_;
        for (std::int64_t c = 0; c < width_; ++c) sum[c] += from[i * width_ + c];
      }
    }
  }

  Collectives& collectives_;
  RowExchange sizes_;
  std::int64_t width_;
};

class ExchangeGradientWaitKernel final : public Kernel {
 public:
  explicit ExchangeGradientWaitKernel(Collectives& collectives) : collectives_(collectives) {}
  void run(const KernelArgs&) override { collectives_.wait_all_reduces(); }

 private:
  Collectives& collectives_;
};

}  // namespace

std::unique_ptr<Kernel> make_exchange_ids(const KernelContext& context) {
  return std::make_unique<ExchangeIdsKernel>(context);
}

std::unique_ptr<Kernel> make_exchange_rows(const KernelContext& context) {
  if (context.inputs[ExchangeRows::received].dtype == DType::i64)
    return std::make_unique<ExchangeRowsKernel<std::int64_t>>(context);
  return std::make_unique<ExchangeRowsKernel<std::int32_t>>(context);
}

std::unique_ptr<Kernel> make_exchange_gradient(const KernelContext& context) {
  return std::make_unique<ExchangeGradientKernel>(context);
}

std::unique_ptr<Kernel> make_exchange_gradient_wait(const KernelContext& context) {
  return std::make_unique<ExchangeGradientWaitKernel>(require_collectives(context));
}

}  // namespace ptrain::cpu
