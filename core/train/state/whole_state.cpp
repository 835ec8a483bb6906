#include "core/train/state/whole_state.h"

#include "core/base/row_shard.h"
#include "core/passes/update/parameter_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ptrain {

WholeState::WholeState(const Model& model, Variables& variables, const Ranks& ranks, const std::optional<Shard>& shard,
                       Of of)
    : variables_(variables),
      ranks_(ranks),
      shard_(shard),
      rows_(model, variables, ranks, of,
            [this](const std::string& name, Variables::Entry whole) { replace(name, std::move(whole)); }) {
  for (const ModelVariable& table : model.variables()) {
    if (table.is_dynamic || !variables.contains(table.name)) continue;
    if (variables.at(table.name).desc.shape == table.shape) continue;
    const std::string buffer = flat::table + table.name;
    add_table(variables.contains(buffer) ? std::vector{table.name, buffer} : std::vector{table.name},
              {DType::f32, table.shape});
    if (of == Of::parameters) continue;
    for (const char* name : flat::all_moments) {
      const std::string moment = fmt::format("{}.{}", name, table.name);
      if (!variables.contains(moment)) continue;
      std::vector<std::int64_t> dims = variables.at(moment).desc.shape.dims();
      dims.front() = table.shape[0];
      add_table({moment}, {DType::f32, Shape(std::move(dims))});
    }
  }
  if (!shard) return;
  const bool divides_masters = !variables.contains(flat::master);
  const std::int64_t divided = variables.at(divides_masters ? flat::low : flat::master).desc.count();
  if (of == Of::all) {
    for (const char* moment : flat::all_moments) add_buffer(moment, divided);
  }
  add_buffer(flat::master, divided);
  if (divides_masters && ranks.is_main()) add_masters(buffers_.back());
}

WholeState::~WholeState() {
  for (auto& [name, own] : replaced_) {
    if (own) {
      variables_.replace(name, *own);
    } else {
      variables_.remove(name);
    }
  }
}

void WholeState::replace(const std::string& name, Variables::Entry whole) {
  whole.on_host = true;
  if (variables_.contains(name)) {
    replaced_.emplace_back(name, variables_.replace(name, whole));
  } else {
    variables_.add(name, whole);
    replaced_.emplace_back(name, std::nullopt);
  }
}

void WholeState::add_table(const std::vector<std::string>& names, TensorDesc whole) {
  Table& table = tables_.emplace_back();
  table.whole = std::move(whole);
  for (const std::string& name : names) table.variables.emplace_back(name, variables_.at(name));
  if (!ranks_.is_main()) return;
  table.memory.resize(table.whole.bytes());
  for (const auto& [name, own] : table.variables) {
    replace(name, {table.whole, own.storage, table.memory.data(), own.view});
  }
}

void WholeState::add_buffer(const char* name, std::int64_t divided) {
  Buffer buffer{name, divided, 0};
  if (!variables_.contains(buffer.slices())) return;
  if (variables_.contains(buffer.rest_name())) buffer.rest = variables_.at(buffer.rest_name()).desc.count();
  const TensorDesc whole{DType::f32, Shape{buffer.divided + buffer.rest}};
  if (ranks_.is_main()) {
    buffer.memory.resize(static_cast<std::size_t>(whole.count()));
    replace(name, {whole, Storage::state, reinterpret_cast<std::byte*>(buffer.memory.data())});
  }
  buffers_.push_back(std::move(buffer));
}

/// The parameters, as views of the whole: those of which there are low-precision copies, and those in the rest.
void WholeState::add_masters(Buffer& masters) {
  std::vector<std::pair<std::string, Variables::Entry>> found;
  const auto find_views = [&](std::string_view buffer, std::int64_t begin) {
    if (!variables_.contains(buffer)) return;
    const Variables::Entry& base = variables_.at(buffer);
    for (const auto& [name, entry] : variables_.entries()) {
      const bool lies_in_it = entry.data >= base.data && entry.data < base.data + base.desc.bytes();
      if (entry.storage != Storage::parameter || !entry.view || !lies_in_it) continue;
      const auto at = (entry.data - base.data) / static_cast<std::ptrdiff_t>(element_size(base.desc.dtype));
      found.emplace_back(master_name(name),
                         Variables::Entry{{DType::f32, entry.desc.shape},
                                          Storage::parameter,
                                          reinterpret_cast<std::byte*>(masters.memory.data() + begin + at),
                                          true});
    }
  };
  find_views(flat::low, 0);
  find_views(masters.rest_name(), masters.divided);
  for (auto& [name, entry] : found) replace(name, entry);
}

std::set<std::string> WholeState::names() const {
  std::set<std::string> names = rows_.names();
  for (const Table& table : tables_) {
    for (const auto& [name, own] : table.variables) names.insert(name);
  }
  for (const Buffer& buffer : buffers_) names.insert(buffer.name);
  return names;
}

std::int64_t WholeState::Table::chunk() const {
  constexpr std::size_t most = std::size_t{16} << 20;  // bytes
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(most / row_bytes()));
}

void WholeState::gather() {
  for (Table& table : tables_) gather(table);
  for (Buffer& buffer : buffers_) gather(buffer);
  rows_.gather();
}

void WholeState::scatter() {
  for (Table& table : tables_) scatter(table);
  for (const Buffer& buffer : buffers_) scatter(buffer);
  rows_.scatter();
}

void WholeState::gather(Table& table) {
  std::vector<std::byte> sent;
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

void WholeState::scatter(Table& table) {
  std::vector<std::byte> sent;
  const RowShard shard{ranks_.rank(), ranks_.world_size()};
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

void WholeState::gather(Buffer& buffer) {
  std::vector<float> sent;
  std::size_t kept = 0;  // of this rank's slices before
  for (const RankSlice& block : shard_->blocks(buffer.divided)) {
    for (int rank = 0; rank < ranks_.world_size(); ++rank) {
      const RankSlice slice = rank_slice(block.count(), rank, ranks_.world_size());
      sent.resize(static_cast<std::size_t>(slice.count()));
      const std::span<std::byte> bytes = std::as_writable_bytes(std::span(sent));
      if (rank == ranks_.rank()) {
        variables_.read_part(buffer.slices(), kept * sizeof(float), bytes);
        kept += sent.size();
      }
      ranks_.communicator()->broadcast(bytes, rank);
      if (ranks_.is_main()) std::ranges::copy(sent, buffer.memory.begin() + block.begin + slice.begin);
    }
  }
  if (buffer.rest == 0 || !ranks_.is_main()) return;
  const auto rest = std::span(buffer.memory).subspan(static_cast<std::size_t>(buffer.divided));
  variables_.read_part(buffer.rest_name(), 0, std::as_writable_bytes(rest));
}

void WholeState::scatter(const Buffer& buffer) {
  std::vector<float> sent;
  const auto take = [&](std::int64_t begin, std::int64_t count) {
    sent.resize(static_cast<std::size_t>(count));
    if (ranks_.is_main()) std::copy_n(buffer.memory.begin() + begin, count, sent.begin());
    ranks_.communicator()->broadcast(std::as_writable_bytes(std::span(sent)), 0);
  };
  std::size_t kept = 0;
  for (const RankSlice& block : shard_->blocks(buffer.divided)) {
    take(block.begin, block.count());
    const RankSlice slice = rank_slice(block.count(), ranks_.rank(), ranks_.world_size());
    const auto mine = std::span<const float>(sent).subspan(static_cast<std::size_t>(slice.begin),
                                                           static_cast<std::size_t>(slice.count()));
    variables_.write_part(buffer.slices(), kept * sizeof(float), std::as_bytes(mine));
    kept += mine.size();
  }
  if (buffer.rest == 0) return;
  take(buffer.divided, buffer.rest);
  variables_.write_part(buffer.rest_name(), 0, std::as_bytes(std::span(sent)));
}

}  // namespace ptrain
