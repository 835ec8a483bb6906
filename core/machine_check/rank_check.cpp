#include "core/machine_check/rank_check.h"

#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/comm/pairing.h"
#include "core/exec/benchmark_op.h"
#include "core/machine_check/rank_figures.h"
#include "core/report/statistics.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

namespace ptrain {
namespace {

constexpr int laps = 12;  // for a 99 % interval that one disturbed lap does not widen
constexpr double lap_seconds = 0.1;
constexpr std::size_t most_doubtful_links = 8;
constexpr double rate_unit = 1e9;

/// Units of work a second, of work repeated for a lap.
double measure_rate(BenchmarkOp& op, double work, Stream& stream) {
  op.run();
  stream.synchronize();
  const Stopwatch watch;
  double done = 0;
  do {
    op.run();
    stream.synchronize();
    done += work;
  } while (watch.seconds() < lap_seconds);
  return done / watch.seconds();
}

/// A file that is written through to the disk and removed.
class ScratchFile {
 public:
  ScratchFile(const std::filesystem::path& folder, int rank)
      : path_(folder / fmt::format("ptrain-check-{}-{}", rank, ::getpid())),
        file_(::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)) {
    if (file_ < 0) refuse("create", errno);
    ::unlink(path_.c_str());  // so that nothing stays where the process is killed
  }
  ~ScratchFile() { ::close(file_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// Bytes/s.
  double write(std::span<const std::byte> bytes) {
    const Stopwatch watch;
    const ssize_t count = ::pwrite(file_, bytes.data(), bytes.size(), 0);
    if (count != static_cast<ssize_t>(bytes.size())) refuse("write", count < 0 ? errno : ENOSPC);
    if (::fdatasync(file_) != 0) refuse("write", errno);
    return static_cast<double>(bytes.size()) / watch.seconds();
  }

 private:
  [[noreturn]] void refuse(const char* action, int reason) const {
    fail("{}: cannot {} it: {}; name another folder with --disk", path_.string(), action, std::strerror(reason));
  }

  std::filesystem::path path_;
  int file_;
};

/// What one pass over all laps measured.
struct Pass {
  std::vector<RankFigure> devices;          // of each rank by itself
  std::vector<LinkSample> inside, between;  // of one host; of two
};

class RankCheck {
 public:
  RankCheck(Communicator& communicator, Backend& backend, const RankCheckOptions& options)
      : communicator_(communicator),
        backend_(backend),
        options_(options),
        rank_(communicator.rank()),
        ranks_(communicator.world_size()),
        product_(make_product(backend, DType::f32, product_sizes.at(choose_size()), {})),
        addition_(make_addition(backend, addition_count, {})),
        mine_(exchange_bytes, std::byte{1}),
        theirs_(exchange_bytes),
        rounds_per_lap_(choose_rounds_per_lap()) {}

  std::vector<Check> run() {
    const Pass first = measure();
    const std::vector<RankFigure> figures = combine(first);
    std::vector<std::vector<RankDistance>> slow;
    bool any = false;
    for (const RankFigure& figure : figures) {
      slow.push_back(find_slow_ranks(figure));
      any = any || !slow.back().empty();
    }
    if (any) keep_slow_again(slow, combine(measure()));
    std::vector<Check> checks;
    std::set<int> slow_ranks;
    for (std::size_t i = 0; i < figures.size(); ++i) {
      for (const RankDistance& one : slow[i]) slow_ranks.insert(one.rank);
      describe(figures[i], slow[i], checks);
    }
    for (const std::vector<LinkSample>* samples : {&first.inside, &first.between}) {
      check_links(*samples, slow_ranks, checks);
    }
    return checks;
  }

 private:
  static constexpr std::size_t exchange_bytes = std::size_t{1} << 20;
  static constexpr std::size_t file_bytes = std::size_t{8} << 20;
  static constexpr std::int64_t addition_count = std::int64_t{1} << 23;
  static constexpr double device_tolerance = 0.1, memory_tolerance = 0.15, link_tolerance = 0.25, disk_tolerance = 0.5;

  /// The size of the product at which rank 0's device is busy for milliseconds.
  std::size_t choose_size() {
    constexpr double long_enough = 5e-3;
    std::size_t size = 0;
    if (rank_ == 0) {
      for (; size + 1 < product_sizes.size(); ++size) {
        const auto op = make_product(backend_, DType::f32, product_sizes.at(size), {});
        const double flops = op->cost().flops;
        if (flops / measure_rate(*op, flops, backend_.stream()) >= long_enough) break;
      }
    }
    communicator_.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
    return size;
  }

  /// The values of all ranks, by rank: [ranks][mine.size()].
  std::vector<double> gather(std::span<const double> mine) {
    std::vector<double> all(mine.size() * static_cast<std::size_t>(ranks_));
    communicator_.all_gather(mine, all);
    return all;
  }

  void begin(const char* action, int lap) {
    communicator_.note(action, lap + 1);
    communicator_.barrier();
    if (options_.progress != nullptr) options_.progress->show_activity(action, lap, laps);
  }

  Pass measure() {
    Pass pass;
    pass.devices = {{"matrix product, fp32", "Gop/s", device_tolerance, {}},
                    {"memory", "GB/s", memory_tolerance, {}},
                    {"disk, written", "GB/s", disk_tolerance, {}}};
    const std::vector<std::byte> content(file_bytes, std::byte{7});
    ScratchFile file(options_.folder, rank_);
    for (int lap = 0; lap < laps; ++lap) {
      begin("measuring the device", lap);
      const double product = measure_rate(*product_, product_->cost().flops, backend_.stream());
      begin("measuring memory", lap);
      const double memory = measure_rate(*addition_, addition_->cost().bytes, backend_.stream());
      begin("writing to the disk", lap);
      const std::array<double, 3> mine{product / rate_unit, memory / rate_unit, file.write(content) / rate_unit};
      const std::vector<double> all = gather(mine);
      for (std::size_t figure = 0; figure < mine.size(); ++figure) {
        std::vector<double>& values = pass.devices[figure].laps.emplace_back();
        for (std::size_t i = figure; i < all.size(); i += mine.size()) values.push_back(all[i]);
      }
    }
    measure_links(pass);
    return pass;
  }

  /// GB/s each way with that partner; 0 with itself.
  double exchange(int partner) {
    const double seconds = communicator_.exchange(partner, mine_, theirs_);
    return partner == rank_ ? 0 : static_cast<double>(exchange_bytes) / std::max(seconds, 1e-9) / rate_unit;
  }

  std::int64_t choose_rounds_per_lap() {
    constexpr std::int64_t fewest = 3;
    const std::int64_t rounds = count_rounds(ranks_);
    begin("exchanging with other ranks", 0);
    const Stopwatch watch;
    for (std::int64_t round = 0; round < fewest; ++round) exchange(find_partner(rank_, ranks_, round));
    const std::vector<double> seconds = gather(std::array{watch.seconds() / static_cast<double>(fewest)});
    const double affordable = options_.exchange_seconds / laps / std::ranges::max(seconds);
    return std::clamp(static_cast<std::int64_t>(affordable), std::min(fewest, rounds), rounds);
  }

  /// Each lap begins with another round: where processors are busy, the first exchange after a barrier is the slowest.
  void measure_links(Pass& pass) {
    const std::int64_t rounds = rounds_per_lap_;
    for (int lap = 0; lap < laps; ++lap) {
      begin("exchanging with other ranks", lap);
      std::vector<double> mine(static_cast<std::size_t>(rounds));
      for (std::int64_t turn = 0; turn < rounds; ++turn) {
        const std::int64_t i = (turn + lap) % rounds;
        mine[static_cast<std::size_t>(i)] = exchange(find_partner(rank_, ranks_, lap * rounds + i));
      }
      const std::vector<double> all = gather(mine);
      const auto rate = [&](int rank, std::int64_t i) { return all[static_cast<std::size_t>(rank * rounds + i)]; };
      for (std::int64_t i = 0; i < rounds; ++i) {
        for (int rank = 0; rank < ranks_; ++rank) {
          const int partner = find_partner(rank, ranks_, lap * rounds + i);
          if (partner <= rank) continue;
          samples_of(pass, rank, partner).push_back({lap, rank, partner, std::min(rate(rank, i), rate(partner, i))});
        }
      }
    }
  }

  std::vector<LinkSample>& samples_of(Pass& pass, int rank, int partner) const {
    const Transport& transport = communicator_.transport();
    return transport.host_index(rank) == transport.host_index(partner) ? pass.inside : pass.between;
  }

  RankFigure combine_samples(const std::vector<LinkSample>& samples, const char* what) const {
    RankFigure figure = combine_links(samples, ranks_, laps);
    figure.what = what;
    figure.unit = "GB/s";
    figure.tolerance = link_tolerance;
    return figure;
  }

  std::vector<RankFigure> combine(const Pass& pass) const {
    std::vector<RankFigure> figures = pass.devices;
    if (!pass.inside.empty()) figures.push_back(combine_samples(pass.inside, "links inside a host"));
    if (!pass.between.empty()) figures.push_back(combine_samples(pass.between, "links between hosts"));
    return figures;
  }

  static void keep_slow_again(std::vector<std::vector<RankDistance>>& slow, const std::vector<RankFigure>& again) {
    for (std::size_t i = 0; i < slow.size(); ++i) {
      const std::vector<RankDistance> same = find_slow_ranks(again[i]);
      std::erase_if(slow[i], [&](const RankDistance& one) {
        return std::ranges::find(same, one.rank, &RankDistance::rank) == same.end();
      });
    }
  }

  std::string name(int rank) const {
    return fmt::format("rank {} on {}", rank, communicator_.transport().rank_host(rank));
  }

  static std::string text(const Interval& percent) {
    return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f})", percent.estimate, percent.lower, percent.upper);
  }

  static std::string expectation(double tolerance) {
    return fmt::format("no more than {:g} % below the others", 100 * tolerance);
  }

  void describe(const RankFigure& figure, const std::vector<RankDistance>& slow, std::vector<Check>& checks) const {
    std::vector<double> values;
    for (const std::vector<double>& lap : figure.laps) std::ranges::copy(lap, std::back_inserter(values));
    std::erase_if(values, [](double value) { return value <= 0; });
    const std::vector<RankDistance> distances = compare_ranks(figure);
    Check check{"ranks",
                figure.what,
                fmt::format("median {:.3g} {}", quantile(values, 0.5), figure.unit),
                expectation(figure.tolerance),
                CheckVerdict::skipped,
                ""};
    if (distances.empty()) {
      check.reason = "fewer than three ranks: none can be said to be the slow one";
    } else {
      const RankDistance& slowest =
          *std::ranges::min_element(distances, {}, [](const RankDistance& one) { return one.percent.estimate; });
      check.found += fmt::format("; slowest {}, {}", name(slowest.rank), text(slowest.percent));
      check.verdict = slow.empty() ? CheckVerdict::ok : CheckVerdict::failed;
    }
    checks.push_back(check);
    for (const RankDistance& one : slow) {
      checks.push_back(
          {name(one.rank), figure.what, text(one.percent), expectation(figure.tolerance), CheckVerdict::failed, ""});
    }
  }

  /// Measures doubtful links again, while no other rank exchanges.
  void check_links(const std::vector<LinkSample>& samples, const std::set<int>& slow_ranks,
                   std::vector<Check>& checks) {
    if (samples.empty() || ranks_ < 3) return;
    const RankFigure links = combine_samples(samples, "link");
    for (const LinkDistance& link : find_doubtful_links(samples, links, most_doubtful_links)) {
      if (slow_ranks.contains(link.first) || slow_ranks.contains(link.second)) continue;
      const Interval percent = measure_alone(link, samples);
      if (!percent.bounded || percent.upper >= -100 * link_tolerance) continue;
      checks.push_back({fmt::format("{} and {}", name(link.first), name(link.second)), "link", text(percent),
                        expectation(link_tolerance), CheckVerdict::failed, ""});
    }
  }

  /// The best partner of a rank among those of `samples`, other than `without`.
  static int find_best_partner(int rank, int without, const std::vector<LinkSample>& samples) {
    int best = without;
    double rate = 0;
    for (const LinkSample& sample : samples) {
      if (sample.first != rank && sample.second != rank) continue;
      const int partner = sample.first == rank ? sample.second : sample.first;
      if (partner == without || sample.rate <= rate) continue;
      best = partner;
      rate = sample.rate;
    }
    return best;
  }

  /// The link's rate against the lower of those that its ranks reach with other partners, in turn.
  Interval measure_alone(const LinkDistance& link, const std::vector<LinkSample>& samples) {
    const std::array<std::pair<int, int>, 3> pairs{
        {{link.first, link.second},
         {link.first, find_best_partner(link.first, link.second, samples)},
         {link.second, find_best_partner(link.second, link.first, samples)}}};
    std::vector<double> distances;
    for (int lap = 0; lap < laps; ++lap) {
      begin("exchanging with one rank", lap);
      std::array<double, 3> mine{};
      for (std::size_t turn = 0; turn < pairs.size(); ++turn) {
        const std::size_t i = (turn + static_cast<std::size_t>(lap)) % pairs.size();
        const auto& [first, second] = pairs[i];
        mine[i] = exchange(rank_ == first ? second : rank_ == second ? first : rank_);
      }
      const std::vector<double> all = gather(mine);
      std::array<double, 3> rates{};
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto rate = [&](int rank) { return all[static_cast<std::size_t>(rank) * pairs.size() + i]; };
        rates[i] = std::min(rate(pairs[i].first), rate(pairs[i].second));
      }
      distances.push_back(std::log(rates[0] / std::min(rates[1], rates[2])));
    }
    return in_percent(signed_rank_interval(distances, rank_confidence));
  }

  Communicator& communicator_;
  Backend& backend_;
  const RankCheckOptions& options_;
  const int rank_, ranks_;
  std::unique_ptr<BenchmarkOp> product_, addition_;
  std::vector<std::byte> mine_, theirs_;
  const std::int64_t rounds_per_lap_;  // once, so that both passes have exchanges of the same pairs
};

}  // namespace

std::vector<Check> check_ranks(Communicator& communicator, Backend& backend, const RankCheckOptions& options) {
  return RankCheck(communicator, backend, options).run();
}

}  // namespace ptrain
