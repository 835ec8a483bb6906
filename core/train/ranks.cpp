#include "core/train/ranks.h"

#include "core/base/errors.h"
#include "core/comm/rank_failure.h"
#include "core/io/atomic_file.h"
#include "core/passes/optimizer.h"

#include <algorithm>
#include <cstring>

namespace ptrain {

Ranks::Ranks(Communicator* communicator)
    : communicator_(communicator), steps_(static_cast<std::size_t>(world_size())) {}

int Ranks::ranks_in_process() const {
  return several() && communicator_->transport().engine() == "threads" ? world_size() : 1;
}

void Ranks::shard(LoaderOptions& options) const {
  options.rank = rank();
  options.world_size = world_size();
}

void Ranks::note(const char* action, std::int64_t step) const {
  if (several()) communicator_->note(action, step);
}

std::vector<double> Ranks::gathered(std::span<const double> mine) const {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(world_size()));
  communicator_->all_gather(mine, all);
  return all;
}

void Ranks::start_sharing(const RankStep& mine) {
  constexpr std::size_t fields = sizeof(RankStep) / sizeof(double);
  static_assert(sizeof(RankStep) == fields * sizeof(double));
  shared_ = mine;
  shared_.signal = SignalGuard::received();
  steps_[static_cast<std::size_t>(rank())] = shared_;
  if (!several()) return;
  sharing_ = communicator_->start_gather({&shared_.loss, fields}, {&steps_[0].loss, fields * steps_.size()});
}

std::span<const RankStep> Ranks::finish_sharing() {
  if (!several()) return steps_;
  communicator_->wait_for(sharing_);
  for (const RankStep& step : steps_) agreed_signal_ = std::max(agreed_signal_, static_cast<int>(step.signal));
  return steps_;
}

void Ranks::add_up(std::span<double> values) const {
  if (!several()) return;
  const std::vector<double> all = gathered(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 0;
    for (std::size_t at = i; at < all.size(); at += values.size()) values[i] += all[at];
  }
}

double Ranks::largest(double mine) const {
  if (!several()) return mine;
  const std::vector<double> all = gathered({&mine, 1});
  return *std::max_element(all.begin(), all.end());
}

std::vector<std::vector<double>> Ranks::collect(std::span<const double> mine) const {
  if (!several()) return {{mine.begin(), mine.end()}};
  const auto size = static_cast<double>(mine.size());
  std::vector<double> sent(1 + static_cast<std::size_t>(largest(size)));
  sent[0] = size;
  std::copy(mine.begin(), mine.end(), sent.begin() + 1);
  const std::vector<double> all = gathered(sent);
  std::vector<std::vector<double>> collected;
  for (auto rank = all.begin(); rank != all.end(); rank += static_cast<std::ptrdiff_t>(sent.size())) {
    collected.emplace_back(rank + 1, rank + 1 + static_cast<std::ptrdiff_t>(*rank));
  }
  return collected;
}

std::vector<std::string> Ranks::collect(std::string_view mine) const {
  constexpr std::size_t bytes_each = 6;  // sent as integers that a double holds exactly
  std::vector<double> packed{static_cast<double>(mine.size())};
  for (std::size_t from = 0; from < mine.size(); from += bytes_each) {
    std::uint64_t word = 0;
    std::memcpy(&word, mine.data() + from, std::min(bytes_each, mine.size() - from));
    packed.push_back(static_cast<double>(word));
  }
  std::vector<std::string> texts;
  for (const std::vector<double>& rank : collect(packed)) {
    std::string& text = texts.emplace_back(static_cast<std::size_t>(rank[0]), '\0');
    for (std::size_t from = 0; from < text.size(); from += bytes_each) {
      const auto word = static_cast<std::uint64_t>(rank[1 + from / bytes_each]);
      std::memcpy(text.data() + from, &word, std::min(bytes_each, text.size() - from));
    }
  }
  return texts;
}

BadSamples Ranks::collect(const BadSamples& mine) const {
  std::string packed = std::to_string(mine.count);
  for (const std::string& message : mine.first) packed += '\0' + message;
  BadSamples all;
  for (const std::string& rank : collect(std::string_view(packed))) {
    BadSamples part{std::stoll(rank)};
    for (std::size_t end = rank.find('\0'); end != rank.npos;) {
      const std::size_t begin = end + 1;
      end = rank.find('\0', begin);
      part.first.push_back(rank.substr(begin, end - begin));
    }
    all.add(part);
  }
  return all;
}

void Ranks::broadcast(std::span<double> values) const {
  if (several()) communicator_->broadcast(std::as_writable_bytes(values), 0);
}

void Ranks::broadcast(Variables& variables, const std::set<std::string>& divided) const {
  if (!several()) return;
  std::vector<std::byte> host;
  for (const auto& [name, entry] : variables.entries()) {
    if (entry.view || is_of_a_step(name) || is_shard(name) || divided.contains(name)) continue;
    host.resize(entry.desc.bytes());
    if (is_main()) variables.read(name, host.data(), host.size());
    communicator_->broadcast(host, 0);
    if (!is_main()) variables.write(name, host.data(), host.size());
  }
}

void Ranks::require_equal_parameters(const Variables& variables, std::int64_t step) const {
  if (!several()) return;
  // Where ranks divide masters, what the forward pass reads in their place.
  const char* compared = variables.contains(flat::master) ? flat::master : flat::low;
  if (!variables.contains(compared)) return;  // only tables train
  std::vector<std::byte> storage;
  const double mine = crc32(variables.host_bytes(compared, storage));
  const std::vector<double> all = gathered({&mine, 1});
  for (int other = 1; other < world_size(); ++other) {
    if (all[static_cast<std::size_t>(other)] == all[0]) continue;
    throw RankFailure(
        other,
        fmt::format(
            "rank {} on {} has other parameters than rank 0 after step {}: a fault of its memory, processor or program",
            other, communicator_->transport().rank_host(other), step));
  }
}

double Ranks::waited_seconds() const { return several() ? communicator_->times().waited_seconds : 0.0; }

std::optional<Shard> make_shard(const DistConfig& dist, int rank, int world_size) {
  constexpr std::int64_t largest = std::int64_t{1} << 30;  // bytes that MPI exchanges in one call
  if (dist.shard == Sharding::none) return std::nullopt;
  return Shard{rank, world_size, std::min(dist.bucket_mb << 20, largest) / static_cast<std::int64_t>(sizeof(float))};
}

std::optional<Shard> make_shard(const DistConfig& dist, const Ranks& ranks) {
  return ranks.several() ? make_shard(dist, ranks.rank(), ranks.world_size()) : std::nullopt;
}

std::shared_ptr<Collectives> make_gradient_collectives(const DistConfig& dist, Backend& backend,
                                                       Communicator* communicator) {
  if (communicator == nullptr) return nullptr;
  if (dist.sync_batch_norm && !backend.kernels().syncs_batch_norm()) {
    fail_usage("dist.sync_batch_norm: is supported on device cpu only");
  }
  if (dist.tables == TablePlacement::rows && !backend.memory().host_reads_device()) {
    fail_usage("dist.tables: expected replicated: rows is supported on device cpu only");
  }
  if (dist.updates == UpdateTiming::delayed && !backend.memory().host_reads_device()) {
    fail_usage("dist.updates: expected synchronous: delayed is supported on device cpu only");
  }
  std::shared_ptr<Collectives> collectives = backend.make_collectives(*communicator);
  if (dist.reproducible && !collectives->adds_in_rank_order()) {
    fail_usage("dist.reproducible: is supported on device cpu only; {} adds in its own order", collectives->engine());
  }
  return collectives;
}

}  // namespace ptrain
