#include "core/exec/variables.h"

#include "core/base/errors.h"
#include "core/base/round_up.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ptrain {
namespace {

constexpr std::size_t alignment = 256;  // what devices' own allocations have

}  // namespace

void Variables::declare(const Graph& graph) {
  for (const Value& value : graph.values()) {
    if (value.storage != Storage::parameter && value.storage != Storage::state) continue;
    const auto [it, added] = entries_.try_emplace(value.name, Entry{value.desc, value.storage});
    if (!added) {
      TensorDesc& known = it->second.desc;
      const bool is_view = it->second.view || value.base != no_value;  // whose place would differ too
      const bool may_differ = is_of_a_step(value.name) && !is_view && value.desc.dtype == known.dtype;
      const bool has_room = value.desc.bytes() <= known.bytes() || it->second.data == nullptr;
      if (known != value.desc && !(may_differ && has_room)) {
        throw std::logic_error(fmt::format("internal error: {} is {} here and {} there", value.name,
                                           value.desc.to_string(), known.to_string()));
      }
      if (value.desc.bytes() > known.bytes()) known = value.desc;
      continue;
    }
    if (value.base == no_value) continue;
    it->second.view = true;
    pending_views_.push_back({value.name, graph.value(value.base).name, value.byte_offset});
  }
}

void Variables::allocate() {
  const auto for_each_pending = [this](auto function) {
    std::size_t offset = 0;
    for (auto& [name, entry] : entries_) {
      if (entry.view || entry.data != nullptr) continue;
      function(entry, offset);
      offset += round_up(entry.desc.bytes(), alignment);
    }
    return offset;
  };
  const std::size_t bytes = for_each_pending([](const Entry&, std::size_t) {});
  std::byte* const memory = buffers_.emplace_back(memory_, bytes).data();
  for_each_pending([memory](Entry& entry, std::size_t offset) { entry.data = memory + offset; });
  for (const View& view : pending_views_) {
    entries_.find(view.name)->second.data = at(view.base).data + view.byte_offset;
  }
  pending_views_.clear();
}

const Variables::Entry& Variables::at(std::string_view name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) throw std::logic_error(fmt::format("internal error: no variable named {}", name));
  return it->second;
}

std::size_t Variables::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, entry] : entries_) bytes += entry.view ? 0 : entry.desc.bytes();
  return bytes;
}

std::size_t Variables::allocated_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, entry] : entries_) bytes += entry.view ? 0 : round_up(entry.desc.bytes(), alignment);
  return bytes;
}

void Variables::write(std::string_view name, const void* host, std::size_t bytes) {
  const Entry& entry = at(name);
  invariant(bytes == entry.desc.bytes(), "a variable is written with the wrong size");
  copy_in(entry, 0, host, bytes);
}

void Variables::write_part(std::string_view name, std::size_t begin, std::span<const std::byte> part) {
  const Entry& entry = at(name);
  invariant(begin + part.size() <= entry.desc.bytes(), "more than a variable is written");
  copy_in(entry, begin, part.data(), part.size());
}

void Variables::copy_in(const Entry& entry, std::size_t begin, const void* host, std::size_t bytes) {
  if (entry.on_host) {
    std::memcpy(entry.data + begin, host, bytes);
  } else {
    memory_.copy_to_device(entry.data + begin, host, bytes);
  }
}

void Variables::copy_out(const Entry& entry, std::size_t begin, void* host, std::size_t bytes) const {
  if (entry.on_host) {
    std::memcpy(host, entry.data + begin, bytes);
  } else {
    memory_.copy_to_host(host, entry.data + begin, bytes);
  }
}

void Variables::read_part(std::string_view name, std::size_t begin, std::span<std::byte> part) const {
  const Entry& entry = at(name);
  invariant(begin + part.size() <= entry.desc.bytes(), "more than a variable is read");
  copy_out(entry, begin, part.data(), part.size());
}

void Variables::read(std::string_view name, void* host, std::size_t bytes) const {
  const Entry& entry = at(name);
  invariant(bytes == entry.desc.bytes(), "a variable is read with the wrong size");
  copy_out(entry, 0, host, bytes);
}

std::span<float> Variables::host_floats(std::string_view name) {
  const Entry& entry = at(name);
  if (entry.desc.dtype != DType::f32 || !(entry.on_host || memory_.host_reads_device())) return {};
  return {reinterpret_cast<float*>(entry.data), static_cast<std::size_t>(entry.desc.count())};
}

std::span<const std::byte> Variables::host_bytes(std::string_view name, std::vector<std::byte>& storage) const {
  const Entry& entry = at(name);
  if (entry.on_host || memory_.host_reads_device()) return {entry.data, entry.desc.bytes()};
  storage.resize(entry.desc.bytes());
  read(name, storage.data(), storage.size());
  return storage;
}

void Variables::add(const std::string& name, const Entry& entry) {
  const bool added = entries_.try_emplace(name, entry).second;
  invariant(added, "a variable is added twice");
}

void Variables::remove(std::string_view name) { entries_.erase(entries_.find(name)); }

Variables::Entry Variables::replace(std::string_view name, Entry other) {
  const auto it = entries_.find(name);
  invariant(it != entries_.end(), "a variable that does not exist is replaced");
  return std::exchange(it->second, std::move(other));
}

void Variables::exchange(std::string_view one, std::string_view other) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  const Entry &a = at(one), &b = at(other);
  invariant(a.desc.bytes() == b.desc.bytes(), "variables of different sizes are exchanged");
  std::vector<std::byte> of_a(std::min(at_once, a.desc.bytes())), of_b(of_a.size());
  for (std::size_t begin = 0; begin < a.desc.bytes(); begin += at_once) {
    const std::size_t bytes = std::min(at_once, a.desc.bytes() - begin);
    copy_out(a, begin, of_a.data(), bytes);
    copy_out(b, begin, of_b.data(), bytes);
    copy_in(a, begin, of_b.data(), bytes);
    copy_in(b, begin, of_a.data(), bytes);
  }
}

std::vector<float> Variables::read_f32(std::string_view name) const {
  const Entry& entry = at(name);
  invariant(is_floating(entry.desc.dtype), "a variable is not floating");
  std::vector<std::byte> storage;
  const std::span<const std::byte> stored = host_bytes(name, storage);
  std::vector<float> values;
  visit_floating(entry.desc.dtype, [&](auto zero) {
    const auto* first = reinterpret_cast<const decltype(zero)*>(stored.data());
    values.assign(first, first + entry.desc.count());
  });
  return values;
}

}  // namespace ptrain
