#include "core/train/state/whole_rows.h"

#include "core/base/errors.h"
#include "core/base/row_index.h"
#include "core/passes/optimizer.h"
#include "core/runtime/dynamic_table.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace ptrain {
namespace {

using Counts = std::array<std::int64_t, RowIndex::counts_size>;

/// Rows that are sent at once.
std::int64_t choose_chunk(std::size_t row_bytes) {
  constexpr std::size_t most = std::size_t{16} << 20;  // bytes
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(most / row_bytes));
}

std::vector<std::int64_t> list_numbers(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

Counts read_counts(const std::byte* from) {
  Counts counts{};
  std::memcpy(counts.data(), from, sizeof counts);
  return counts;
}

}  // namespace

WholeRows::WholeRows(const Model& model, const Variables& variables, const Ranks& ranks, Of of, const Replace& replace)
    : ranks_(ranks), shard_{ranks.rank(), ranks.world_size(), true} {
  const auto tables = list_dynamic_tables(model);
  if (ranks.world_size() == 1 || tables.empty() || !has_row_index(variables)) return;
  for (const ModelVariable& variable : model.variables()) {
    if (variable.is_dynamic) whole_capacity_ = variable.shape[0];
  }
  for (const std::string& name : list_table_variables(model)) {
    if (variables.contains(name)) names_.insert(name);
  }
  names_.insert(row_index::counts);
  own_capacity_ = variables.at(row_index::keys).desc.count();
  const Variables::Entry& slots = variables.at(row_index::slots);
  slots_ = {reinterpret_cast<std::int32_t*>(slots.data), static_cast<std::size_t>(slots.desc.count())};
  if (ranks.is_main()) replace(row_index::slots, {{DType::i32, Shape{0}}});

  add_rows({row_index::keys}, variables, replace);
  keys_ = values_.front();
  counts_ = {variables.at(row_index::counts).data, nullptr, sizeof(Counts)};
  counts_.whole = make_whole({row_index::counts}, variables, RowIndex::counts_size, replace);
  for (const std::string& table : tables) {
    add_rows({table, flat::table + table}, variables, replace);
    if (of == Of::parameters) continue;
    for (const char* moment : flat::all_moments) add_rows({fmt::format("{}.{}", moment, table)}, variables, replace);
  }
  if (of == Of::parameters) return;
  add_rows({row_index::scores}, variables, replace);
  make_whole({row_index::freed}, variables, whole_capacity_, replace);
  if (!names_.contains(row_index::seen)) return;
  const Variables::Entry& seen = variables.at(row_index::seen);
  constexpr std::int64_t block = 4096;  // of which there is a whole number
  seen_blocks_ = seen.desc.count() / block;
  seen_ = {seen.data, nullptr, block};
  seen_.whole = make_whole({row_index::seen}, variables, shard_.world_size * seen.desc.count(), replace);
}

WholeRows::~WholeRows() {
  for (const Memory& memory : memory_) ::munmap(memory.at, memory.bytes);
}

std::byte* WholeRows::make_whole(const std::vector<std::string>& names, const Variables& variables,
                                 std::int64_t first_dim, const Replace& replace) {
  if (!ranks_.is_main() || !names_.contains(names.front())) return nullptr;
  TensorDesc desc = variables.at(names.front()).desc;
  std::vector<std::int64_t> dims = desc.shape.dims();
  dims.front() = first_dim;
  desc.shape = Shape(std::move(dims));
  void* const memory =
      ::mmap(nullptr, desc.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw OutOfMemory(fmt::format("out of memory: cannot map {} MiB", desc.bytes() >> 20));
  memory_.push_back({memory, desc.bytes()});
  for (const std::string& name : names) {
    if (!variables.contains(name)) continue;
    const Variables::Entry& own = variables.at(name);
    replace(name, {desc, own.storage, static_cast<std::byte*>(memory), own.view});
  }
  return static_cast<std::byte*>(memory);
}

void WholeRows::add_rows(const std::vector<std::string>& names, const Variables& variables, const Replace& replace) {
  if (!names_.contains(names.front())) return;
  const Variables::Entry& own = variables.at(names.front());
  RowValues values{own.data, nullptr, own.desc.bytes() / static_cast<std::size_t>(own.desc.shape[0])};
  values.whole = make_whole(names, variables, whole_capacity_, replace);
  values_.push_back(values);
}

std::vector<std::int64_t> WholeRows::list_own_rows() const {
  const auto* keys = reinterpret_cast<const std::int64_t*>(keys_.own);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < read_counts(counts_.own)[RowIndex::rows]; ++row) {
    if (keys[row] != RowIndex::no_key) rows.push_back(row);
  }
  return rows;
}

void WholeRows::gather() {
  if (values_.empty()) return;
  const std::vector<std::int64_t> own = list_own_rows();
  Counts whole{};
  for (int rank = 0; rank < shard_.world_size; ++rank) {
    Counts counts = read_counts(counts_.own);
    counts[RowIndex::rows] = std::ssize(own);
    broadcast(std::as_writable_bytes(std::span(counts)), rank);
    for (const RowValues& values : values_) {
      gather_rows(values, own, counts[RowIndex::rows], rank, whole[RowIndex::rows]);
    }
    gather_rows(seen_, list_numbers(0, seen_blocks_), seen_blocks_, rank, rank * seen_blocks_);
    for (const auto added : {RowIndex::rows, RowIndex::unadmitted, RowIndex::evicted}) whole[added] += counts[added];
    for (const auto alike : {RowIndex::steps, RowIndex::ahead}) whole[alike] = counts[alike];
  }
  if (ranks_.is_main()) std::memcpy(counts_.whole, whole.data(), sizeof whole);
}

/// Copies `count` rows of a rank, `rows` on that one, to the whole's from `at` on.
void WholeRows::gather_rows(const RowValues& values, std::span<const std::int64_t> rows, std::int64_t count, int rank,
                            std::int64_t at) const {
  std::vector<std::byte> sent;
  for (std::int64_t begin = 0; begin < count; begin += choose_chunk(values.row_bytes)) {
    const std::int64_t end = std::min(count, begin + choose_chunk(values.row_bytes));
    sent.resize(static_cast<std::size_t>(end - begin) * values.row_bytes);
    for (std::int64_t i = begin; i < end && rank == ranks_.rank(); ++i) {
      const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(i)]);
      std::memcpy(sent.data() + static_cast<std::size_t>(i - begin) * values.row_bytes,
                  values.own + row * values.row_bytes, values.row_bytes);
    }
    broadcast(sent, rank);
    if (!ranks_.is_main()) continue;
    std::memcpy(values.whole + static_cast<std::size_t>(at + begin) * values.row_bytes, sent.data(), sent.size());
  }
}

void WholeRows::scatter() {
  if (values_.empty()) return;
  Counts counts{};
  if (ranks_.is_main()) counts = read_counts(counts_.whole);
  broadcast(std::as_writable_bytes(std::span(counts)), 0);
  const std::int64_t whole_rows = counts[RowIndex::rows];
  const std::vector<std::int64_t> own = find_own_rows(whole_rows);
  for (const RowValues& values : values_) scatter_rows(values, own, whole_rows);
  if (counts[RowIndex::steps] > 0) {  // else all are 0
    scatter_rows(seen_, list_numbers(ranks_.rank() * seen_blocks_, seen_blocks_), shard_.world_size * seen_blocks_);
  }
  counts[RowIndex::rows] = std::ssize(own);
  counts[RowIndex::freed] = 0;
  if (!ranks_.is_main()) counts[RowIndex::unadmitted] = counts[RowIndex::evicted] = 0;  // which the first goes on with
  auto* const own_counts = reinterpret_cast<std::int64_t*>(counts_.own);
  std::ranges::copy(counts, own_counts);
  const std::span own_keys(reinterpret_cast<std::int64_t*>(keys_.own), static_cast<std::size_t>(own_capacity_));
  RowIndex(own_keys, slots_, {own_counts, counts.size()}).rebuild();
}

/// The numbers among the whole's rows of those whose keys are this rank's.
std::vector<std::int64_t> WholeRows::find_own_rows(std::int64_t whole_rows) const {
  std::vector<std::int64_t> rows, keys;
  for (std::int64_t begin = 0; begin < whole_rows; begin += choose_chunk(keys_.row_bytes)) {
    keys.resize(static_cast<std::size_t>(std::min(whole_rows - begin, choose_chunk(keys_.row_bytes))));
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(keys));
    if (ranks_.is_main()) {
      std::memcpy(bytes.data(), keys_.whole + static_cast<std::size_t>(begin) * keys_.row_bytes, bytes.size());
    }
    broadcast(bytes, 0);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool is_own = shard_.is_id(keys[i]) && shard_.owner(keys[i]) == shard_.rank;
      if (is_own) rows.push_back(begin + static_cast<std::int64_t>(i));
    }
  }
  if (std::ssize(rows) > own_capacity_) {
    fail(
        "the embedding table is full: rank {}'s share of {} rows (model.hash_buckets) has no room for its {}; raise "
        "that",
        shard_.rank, own_capacity_, rows.size());
  }
  return rows;
}

/// Copies the whole's first `count` rows to the ranks, of which this one takes `rows`.
void WholeRows::scatter_rows(const RowValues& values, std::span<const std::int64_t> rows, std::int64_t count) const {
  std::vector<std::byte> sent;
  std::size_t taken = 0;
  for (std::int64_t begin = 0; begin < count; begin += choose_chunk(values.row_bytes)) {
    const std::int64_t end = std::min(count, begin + choose_chunk(values.row_bytes));
    sent.resize(static_cast<std::size_t>(end - begin) * values.row_bytes);
    if (ranks_.is_main()) {
      std::memcpy(sent.data(), values.whole + static_cast<std::size_t>(begin) * values.row_bytes, sent.size());
    }
    broadcast(sent, 0);
    for (; taken < rows.size() && rows[taken] < end; ++taken) {
      std::memcpy(values.own + taken * values.row_bytes,
                  sent.data() + static_cast<std::size_t>(rows[taken] - begin) * values.row_bytes, values.row_bytes);
    }
  }
}

std::optional<TableReport> count_all_rows(const Variables& variables, const Ranks& ranks, std::int64_t capacity) {
  std::optional<TableReport> table = count_table_rows(variables);
  if (!table || !ranks.several()) return table;
  std::array counts{static_cast<double>(table->rows), static_cast<double>(table->evicted),
                    static_cast<double>(table->unadmitted)};
  ranks.add_up(counts);
  return TableReport{std::llround(counts[0]), capacity, std::llround(counts[1]), std::llround(counts[2]),
                     counts[0] / static_cast<double>(capacity)};
}

}  // namespace ptrain
