#include "core/runtime/dynamic_table.h"

#include "core/base/errors.h"
#include "core/passes/optimizer.h"

namespace ptrain {
namespace {

template <typename T>
std::span<T> view(const Variables& variables, const char* name, std::int64_t count) {
  return {reinterpret_cast<T*>(variables.at(name).data), static_cast<std::size_t>(count)};
}

}  // namespace

void require_rows_can_grow(const Model& model, const DeviceMemory& memory) {
  if (memory.host_reads_device() || list_dynamic_tables(model).empty()) return;
  fail_usage("model.dynamic_table: is supported on device cpu only");
}

bool has_row_index(const Variables& variables) {
  return variables.contains(row_index::counts) && variables.at(row_index::counts).data != nullptr;
}

std::span<std::int64_t> get_row_counts(const Variables& variables) {
  return view<std::int64_t>(variables, row_index::counts, RowIndex::counts_size);
}

RowIndex get_row_index(const Variables& variables) {
  const std::int64_t slots = variables.at(row_index::slots).desc.count();
  const std::int64_t capacity = variables.at(row_index::keys).desc.count();
  return {view<std::int64_t>(variables, row_index::keys, capacity),
          view<std::int32_t>(variables, row_index::slots, slots), get_row_counts(variables)};
}

RowsInUse::RowsInUse(const Model& model, Variables& variables) : variables_(variables) {
  if (!has_row_index(variables)) return;
  const std::span<const std::int64_t> counts = get_row_counts(variables);
  for (const std::string& name : list_table_variables(model)) {
    const bool is_hashed = name == row_index::slots || name == row_index::seen;
    if (!is_hashed) shorten(name, counts[name == row_index::freed ? RowIndex::freed : RowIndex::rows]);
  }
}

RowsInUse::~RowsInUse() {
  for (auto& [name, entry] : whole_) variables_.replace(name, entry);
}

void RowsInUse::shorten(const std::string& name, std::int64_t rows) {
  if (!variables_.contains(name)) return;
  Variables::Entry entry = variables_.at(name);
  std::vector<std::int64_t> dims = entry.desc.shape.dims();
  dims.front() = rows;
  entry.desc.shape = Shape(std::move(dims));
  whole_.emplace_back(name, variables_.replace(name, std::move(entry)));
}

void set_row_count(const Variables& variables, std::int64_t rows, std::string_view file) {
  const std::int64_t capacity = variables.at(row_index::keys).desc.count();
  if (rows > capacity) {
    fail("{}: has {} rows, more than the {} of model.hash_buckets, which must be at least as many", file, rows,
         capacity);
  }
  const std::span<std::int64_t> counts = get_row_counts(variables);
  std::ranges::fill(counts, 0);
  counts[RowIndex::rows] = rows;
}

void write_row_keys(Variables& variables, std::span<const std::byte> keys) {
  variables.write_part(row_index::keys, 0, keys);
  get_row_index(variables).rebuild();
  if (!variables.contains(row_index::scores)) return;
  const auto rows = static_cast<std::size_t>(get_row_counts(variables)[RowIndex::rows]);
  const std::vector<float> ones(rows, 1.0f);
  variables.write_part(row_index::scores, 0, std::as_bytes(std::span(ones)));
}

void write_row_counters(const Variables& variables, std::span<const std::byte> counters) {
  const auto own = view<std::uint8_t>(variables, row_index::seen, variables.at(row_index::seen).desc.count());
  const std::span saved(reinterpret_cast<const std::uint8_t*>(counters.data()), counters.size());
  RowIndex::resize_counters(saved, own);
}

std::vector<std::int64_t> list_used_rows(const Variables& variables) {
  std::vector<std::int64_t> used;
  if (!has_row_index(variables)) return used;
  const std::span<const std::int64_t> keys = get_row_index(variables).keys();
  for (std::int64_t row = 0; row < get_row_counts(variables)[RowIndex::rows]; ++row) {
    if (keys[static_cast<std::size_t>(row)] != RowIndex::no_key) used.push_back(row);
  }
  return used;
}

std::optional<TableReport> count_table_rows(const Variables& variables) {
  if (!has_row_index(variables)) return std::nullopt;
  const RowIndex index = get_row_index(variables);
  const std::span<const std::int64_t> counts = get_row_counts(variables);
  return TableReport{index.in_use(), index.capacity(), counts[RowIndex::evicted], counts[RowIndex::unadmitted],
                     static_cast<double>(index.in_use()) / static_cast<double>(index.capacity())};
}

std::set<std::string, std::less<>> list_dynamic_tables(const Model& model) {
  std::set<std::string, std::less<>> names;
  for (const ModelVariable& variable : model.variables()) {
    if (variable.is_dynamic) names.insert(variable.name);
  }
  return names;
}

std::set<std::string, std::less<>> list_table_variables(const Model& model) {
  const auto tables = list_dynamic_tables(model);
  if (tables.empty()) return {};
  std::set<std::string, std::less<>> names{row_index::keys, row_index::slots, row_index::seen, row_index::scores,
                                           row_index::freed};
  for (const std::string& table : tables) {
    names.insert({table, flat::table + table});
    for (const char* moment : flat::all_moments) names.insert(fmt::format("{}.{}", moment, table));
  }
  return names;
}

}  // namespace ptrain
