#include "core/train/state/whole_tables.h"

#include "core/base/row_shard.h"
#include "core/passes/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ptrain {

WholeTables::WholeTables(const Model& model, Variables& variables, const Ranks& ranks)
    : variables_(variables), ranks_(ranks) {
  for (const ModelVariable& table : model.variables()) {
    if (!variables.contains(table.name) || variables.at(table.name).desc.shape == table.shape) continue;
    const std::string buffer = flat::table + table.name;
    add(variables.contains(buffer) ? std::vector{table.name, buffer} : std::vector{table.name},
        {DType::f32, table.shape});
    for (const char* name : {flat::moment1, flat::moment2, flat::moment3}) {
      const std::string moment = fmt::format("{}.{}", name, table.name);
      if (!variables.contains(moment)) continue;
      std::vector<std::int64_t> dims = variables.at(moment).desc.shape.dims();
      dims.front() = table.shape[0];
      add({moment}, {DType::f32, Shape(std::move(dims))});
    }
  }
}

WholeTables::~WholeTables() {
  if (!ranks_.is_main()) return;
  for (const Table& table : tables_) {
    for (const auto& [name, own] : table.variables) variables_.replace(name, own);
  }
}

void WholeTables::add(const std::vector<std::string>& names, TensorDesc whole) {
  Table& table = tables_.emplace_back();
  table.whole = std::move(whole);
  if (ranks_.is_main()) table.memory.resize(table.whole.bytes());
  for (const std::string& name : names) {
    Variables::Entry own = variables_.at(name);
    if (ranks_.is_main()) {
      variables_.replace(name, {table.whole, own.storage, table.memory.data(), own.view});
    }
    table.variables.emplace_back(name, std::move(own));
  }
}

std::set<std::string> WholeTables::names() const {
  std::set<std::string> names;
  for (const Table& table : tables_) {
    for (const auto& [name, own] : table.variables) names.insert(name);
  }
  return names;
}

std::int64_t WholeTables::Table::chunk() const {
  constexpr std::size_t most = std::size_t{16} << 20;  // bytes
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(most / row_bytes()));
}

void WholeTables::gather() {
  std::vector<std::byte> sent;
  for (Table& table : tables_) {
    const std::size_t bytes = table.row_bytes();
    for (int rank = 0; rank < ranks_.world_size(); ++rank) {
      const RowShard shard{rank, ranks_.world_size()};
      const std::int64_t count = shard.size(table.rows());
      for (std::int64_t begin = 0; begin < count; begin += table.chunk()) {
        const std::int64_t end = std::min(count, begin + table.chunk());
        sent.resize(static_cast<std::size_t>(end - begin) * bytes);
        if (rank == ranks_.rank()) std::memcpy(sent.data(), table.own_row(begin), sent.size());
        ranks_.communicator()->broadcast(sent, rank);
        if (!ranks_.is_main()) continue;
        for (std::int64_t local = begin; local < end && shard.global(local) < table.rows(); ++local) {
          std::memcpy(table.row(shard.global(local)), sent.data() + static_cast<std::size_t>(local - begin) * bytes,
                      bytes);
        }
      }
    }
  }
}

void WholeTables::scatter() {
  std::vector<std::byte> sent;
  const RowShard shard{ranks_.rank(), ranks_.world_size()};
  for (Table& table : tables_) {
    const std::size_t bytes = table.row_bytes();
    for (std::int64_t begin = 0; begin < table.rows(); begin += table.chunk()) {
      const std::int64_t end = std::min(table.rows(), begin + table.chunk());
      sent.resize(static_cast<std::size_t>(end - begin) * bytes);
      if (ranks_.is_main()) std::memcpy(sent.data(), table.row(begin), sent.size());
      ranks_.communicator()->broadcast(sent, 0);
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t local = shard.local(row);
        if (local < 0) continue;
        std::memcpy(table.own_row(local), sent.data() + static_cast<std::size_t>(row - begin) * bytes, bytes);
      }
    }
  }
}

}  // namespace ptrain
