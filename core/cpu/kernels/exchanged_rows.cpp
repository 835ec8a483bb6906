// The exchanges of a divided table (core/ops/sparse/exchanged_rows.h). Rows travel in rounds of RowExchange::chunk for
// each pair of ranks; all ranks know how many rounds the largest pair needs. Kernels start exchanges and return at
// once.
#include "core/ops/sparse/exchanged_rows.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
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

/// What a rank tells another: how many ids it asks it for, and the most that it asks anyone for.
struct Counts {
  std::int32_t asked, most;
};

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

/// Memory for the rows of a round, by rank: those that this rank asks others for, and those that it is asked for. Its
/// own are not sent: both are the same.
struct RoundRows {
  std::vector<std::span<float>> asked, received;
};

/// Of each table, by which an exchange has a part.
using PartRows = std::vector<RoundRows>;

/// Rounds of rows that a rank asks others for and that it is asked for.
class RowRounds {
 public:
  RowRounds(const RowExchange& sizes, const void* counts, const void* received_counts)
      : RowRounds(sizes, static_cast<const std::int32_t*>(counts), static_cast<const std::int32_t*>(received_counts)) {}

  std::int64_t count() const { return count_; }
  int ranks() const { return shard_.world_size; }
  /// The first of a rank's ids of a round among all that this one is asked for.
  std::int64_t received_begin(int rank, std::int64_t round) const { return received_.begin(rank, round); }

  /// Of tables of these widths: `asked` have room for all rows that this rank asks others for, `scratch` for a chunk of
  /// each rank.
  PartRows lay_out(std::int64_t round, std::span<const std::int64_t> widths, std::span<float* const> asked,
                   std::span<float* const> scratch) const {
    PartRows parts;
    for (std::size_t i = 0; i < widths.size(); ++i) parts.push_back(lay_out(round, widths[i], asked[i], scratch[i]));
    return parts;
  }

  enum class Sends { asked, received };
  AllToAll make_exchange(const PartRows& parts, Sends sends) const {
    AllToAll exchange;
    for (const RoundRows& part : parts) {
      const auto& [sent, received] =
          sends == Sends::asked ? std::tie(part.asked, part.received) : std::tie(part.received, part.asked);
      for (std::size_t rank = 0; rank < sent.size(); ++rank) {
        const bool own = static_cast<int>(rank) == shard_.rank;
        exchange.sent.push_back(own ? std::span<std::byte>() : std::as_writable_bytes(sent[rank]));
        exchange.received.push_back(own ? std::span<std::byte>() : std::as_writable_bytes(received[rank]));
      }
    }
    return exchange;
  }

 private:
  RowRounds(const RowExchange& sizes, const std::int32_t* counts, const std::int32_t* received_counts)
      : shard_(sizes.shard),
        chunk_(sizes.chunk()),
        asked_(counts, ranks(), chunk_),
        received_(received_counts, ranks(), chunk_),
        count_((received_counts[ranks()] + chunk_ - 1) / chunk_) {}

  RoundRows lay_out(std::int64_t round, std::int64_t width, float* asked, float* scratch) const {
    RoundRows rows;
    for (int rank = 0; rank < ranks(); ++rank) {
      float* const own = asked + asked_.begin(rank, round) * width;
      float* const others = scratch + rank * chunk_ * width;
      rows.asked.emplace_back(own, asked_.count(rank, round) * width);
      rows.received.emplace_back(rank == shard_.rank ? own : others, received_.count(rank, round) * width);
    }
    return rows;
  }

  RowShard shard_;
  std::int64_t chunk_;
  RankParts asked_, received_;
  std::int64_t count_;
};

class ExchangeCountsKernel final : public Kernel {
 public:
  explicit ExchangeCountsKernel(const KernelContext& context)
      : collectives_(require_collectives(context)), ranks_(context.op_as<ExchangeCounts>().attrs().shard.world_size) {}

  void run(const KernelArgs& args) override {
    const auto* counts = static_cast<const std::int32_t*>(args.inputs[ExchangeCounts::counts]);
    auto* heard = static_cast<Counts*>(args.outputs[ExchangeCounts::heard]);
    auto* told = static_cast<Counts*>(args.outputs[ExchangeCounts::told]);
    const std::int32_t most = *std::max_element(counts, counts + ranks_);
    AllToAll exchange = make_exchange(ranks_);
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      told[at] = {counts[rank], most};
      exchange.sent[at] = bytes_at(told, rank, 1);
      exchange.received[at] = bytes_at(heard, rank, 1);
    }
    collectives_.start_all_to_all(std::move(exchange));
  }

 private:
  Collectives& collectives_;
  int ranks_;
};

class ExchangeIdsKernel final : public Kernel {
 public:
  explicit ExchangeIdsKernel(const KernelContext& context)
      : collectives_(require_collectives(context)),
        sizes_(context.op_as<ExchangeIds>().attrs()),
        id_bytes_(static_cast<std::int64_t>(element_size(context.inputs[ExchangeIds::unique].dtype))) {}

  void run(const KernelArgs& args) override {
    const auto* counts = static_cast<const std::int32_t*>(args.inputs[ExchangeIds::counts]);
    auto* received_counts = static_cast<std::int32_t*>(args.outputs[ExchangeIds::received_counts]);
    count_received(static_cast<const Counts*>(args.inputs[ExchangeIds::heard]), received_counts);
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
  }

 private:
  void count_received(const Counts* heard, std::int32_t* received_counts) const {
    const int ranks = sizes_.shard.world_size;
    received_counts[ranks] = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      received_counts[rank] = heard[rank].asked;
      received_counts[ranks] = std::max(received_counts[ranks], heard[rank].most);
    }
  }

  Collectives& collectives_;
  RowExchange sizes_;
  std::int64_t id_bytes_;
};

std::vector<float*> to_floats(std::span<void* const> memory) {
  std::vector<float*> floats;
  for (void* const of : memory) floats.push_back(static_cast<float*>(of));
  return floats;
}

/// Widths of the tables of an exchange, from its outputs.
std::vector<std::int64_t> find_widths(std::span<const TensorDesc> outputs) {
  std::vector<std::int64_t> widths;
  for (const TensorDesc& rows : outputs.first(outputs.size() / 2)) widths.push_back(rows.shape[1]);
  return widths;
}

/// All rounds are started at once. When a round has come, the exchanges' thread looks up the next one's rows.
template <typename Id>
class ExchangeRowsKernel final : public Kernel {
 public:
  explicit ExchangeRowsKernel(const KernelContext& context)
      : collectives_(require_collectives(context)),
        sizes_(context.op_as<ExchangeRows>().attrs()),
        widths_(find_widths(context.outputs)) {}

  void run(const KernelArgs& args) override {
    const RowRounds rounds(sizes_, args.inputs[ExchangeRows::counts], args.inputs[ExchangeRows::received_counts]);
    const auto* ids = static_cast<const Id*>(args.inputs[ExchangeRows::received]);
    const std::vector<float*> tables = to_floats(args.inputs.subspan(ExchangeRows::tables));
    const std::vector<float*> rows = to_floats(args.outputs.first(widths_.size()));
    const std::vector<float*> sent = to_floats(args.outputs.subspan(widths_.size()));
    for (std::int64_t round = 0; round < rounds.count(); ++round) {
      const PartRows of_round = rounds.lay_out(round, widths_, rows, sent);
      if (round == 0) look_up(tables, ids, rounds, round, of_round, 256);
      AllToAll exchange = rounds.make_exchange(of_round, RowRounds::Sends::received);
      if (round + 1 < rounds.count()) {
        constexpr std::int64_t alone = std::numeric_limits<std::int64_t>::max();
        exchange.then = [=, this] {
          look_up(tables, ids, rounds, round + 1, rounds.lay_out(round + 1, widths_, rows, sent), alone);
        };
      }
      collectives_.start_all_to_all(std::move(exchange));
    }
  }

 private:
  static void look_up(const float* table, std::int64_t width, std::int64_t row, float* to) {
    if (table == nullptr || row < 0) {
      std::fill_n(to, width, table == nullptr && row >= 0 ? 1.0f : 0.0f);
    } else {
      std::copy_n(table + row * width, width, to);
    }
  }

  /// On several threads where each has so many rows.
  void look_up(std::span<float* const> tables, const Id* ids, const RowRounds& rounds, std::int64_t round,
               const PartRows& of_round, std::int64_t least) const {
    for (std::size_t part = 0; part < tables.size(); ++part) {
      const std::int64_t width = widths_[part];
      for (int rank = 0; rank < rounds.ranks(); ++rank) {
        const std::span<float> rows = of_round[part].received[static_cast<std::size_t>(rank)];
        const Id* of_rank = ids + rounds.received_begin(rank, round);
        parallel_for(std::ssize(rows) / width, least, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            look_up(tables[part], width, sizes_.row(of_rank[i]), rows.data() + i * width);
          }
        });
      }
    }
  }

  Collectives& collectives_;
  RowExchange sizes_;
  std::vector<std::int64_t> widths_;
};

class ExchangeGradientsKernel final : public Kernel {
 public:
  explicit ExchangeGradientsKernel(const KernelContext& context)
      : collectives_(require_collectives(context)),
        sizes_(context.op_as<ExchangeGradients>().attrs()),
        widths_(find_widths(context.outputs)) {}

  void run(const KernelArgs& args) override {
    const RowRounds rounds(sizes_, args.inputs[ExchangeGradients::counts],
                           args.inputs[ExchangeGradients::received_counts]);
    const std::vector<float*> gradients = to_floats(args.inputs.subspan(ExchangeGradients::gradients));
    const std::vector<float*> sums = to_floats(args.outputs.first(widths_.size()));
    const std::vector<float*> arrived = to_floats(args.outputs.subspan(widths_.size()));
    const auto* numbers = static_cast<const std::int32_t*>(args.inputs[ExchangeGradients::numbers]);
    const std::int64_t used = *static_cast<const std::int32_t*>(args.inputs[ExchangeGradients::used]);
    for (std::size_t i = 0; i < sums.size(); ++i) std::fill_n(sums[i], used * widths_[i], 0.0f);
    for (std::int64_t round = 0; round < rounds.count(); ++round) {
      PartRows parts = rounds.lay_out(round, widths_, gradients, arrived);
      AllToAll exchange = rounds.make_exchange(parts, RowRounds::Sends::asked);
      exchange.then = [=, this, parts = std::move(parts)] {
        for (std::size_t i = 0; i < parts.size(); ++i) add(rounds, round, parts[i], widths_[i], numbers, sums[i]);
      };
      collectives_.start_all_to_all(std::move(exchange));
    }
  }

 private:
  /// Adds up what the ranks have sent in a round.
  static void add(const RowRounds& rounds, std::int64_t round, const RoundRows& of_round, std::int64_t width,
                  const std::int32_t* numbers, float* sums) {
    for (int rank = 0; rank < rounds.ranks(); ++rank) {
      const std::span<const float> from = of_round.received[static_cast<std::size_t>(rank)];
      const std::int32_t* places = numbers + rounds.received_begin(rank, round);
      for (std::int64_t i = 0; i < std::ssize(from) / width; ++i) {
        if (places[i] < 0) continue;  // a key without a row
        float* sum = sums + places[i] * width;
        for (std::int64_t c = 0; c < width; ++c) sum[c] += from[static_cast<std::size_t>(i * width + c)];
      }
    }
  }

  Collectives& collectives_;
  RowExchange sizes_;
  std::vector<std::int64_t> widths_;
};

class ExchangeWaitKernel final : public Kernel {
 public:
  explicit ExchangeWaitKernel(Collectives& collectives) : collectives_(collectives) {}
  void run(const KernelArgs&) override { collectives_.wait_all_reduces(); }

 private:
  Collectives& collectives_;
};

}  // namespace

std::unique_ptr<Kernel> make_exchange_counts(const KernelContext& context) {
  return std::make_unique<ExchangeCountsKernel>(context);
}

std::unique_ptr<Kernel> make_exchange_ids(const KernelContext& context) {
  return std::make_unique<ExchangeIdsKernel>(context);
}

std::unique_ptr<Kernel> make_exchange_rows(const KernelContext& context) {
  if (context.inputs[ExchangeRows::received].dtype == DType::i64)
    return std::make_unique<ExchangeRowsKernel<std::int64_t>>(context);
  return std::make_unique<ExchangeRowsKernel<std::int32_t>>(context);
}

std::unique_ptr<Kernel> make_exchange_gradients(const KernelContext& context) {
  return std::make_unique<ExchangeGradientsKernel>(context);
}

std::unique_ptr<Kernel> make_exchange_wait(const KernelContext& context) {
  return std::make_unique<ExchangeWaitKernel>(require_collectives(context));
}

}  // namespace ptrain::cpu
