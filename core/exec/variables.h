// The tensors that persist between steps, by name: parameters, running statistics, optimizer state, flat buffers.
// Plans of several graphs (training, evaluation) share one store.
#pragma once

#include "core/exec/device_memory.h"
#include "core/graph/graph.h"

#include <map>
#include <span>
#include <string>

namespace ptrain {

class Variables {
 public:
  explicit Variables(DeviceMemory& memory) : memory_(memory) {}

  struct Entry {
    TensorDesc desc;
    Storage storage = Storage::state;
    std::byte* data = nullptr;  // null until allocate()
    bool view = false;          // lies in another entry's memory
    bool on_host = false;       // in the host's memory, whatever the device
  };

  /// Adds every parameter and state of `graph`. Known ones must have the same descriptor, but for states of a step
  /// (is_of_a_step) that another batch size gives another size: they have room for the largest.
  void declare(const Graph& graph);
  /// Allocates zeroed memory for what was declared since the last call, all in one: small ones too lie on huge pages.
  void allocate();

  bool contains(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  /// Throws std::logic_error when there is none of that name.
  const Entry& at(std::string_view name) const;
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  std::size_t bytes() const;
  /// The bytes that they take once allocated, each aligned.
  std::size_t allocated_bytes() const;

  void write(std::string_view name, const void* host, std::size_t bytes);
  /// Writes a part of a variable, from its byte `begin` on.
  void write_part(std::string_view name, std::size_t begin, std::span<const std::byte> part);
  void read(std::string_view name, void* host, std::size_t bytes) const;
  /// Reads a part of a variable, from its byte `begin` on.
  void read_part(std::string_view name, std::size_t begin, std::span<std::byte> part) const;
  /// A variable's bytes: in place if the host can read them, else a copy in `storage`.
  std::span<const std::byte> host_bytes(std::string_view name, std::vector<std::byte>& storage) const;
  /// The values of a fp32 variable in place, if the host can write them there; else nothing.
  std::span<float> host_floats(std::string_view name);
  /// The values of a floating variable, whatever its precision.
  std::vector<float> read_f32(std::string_view name) const;
  /// Adds a variable in memory of the caller's, and takes one away.
  void add(const std::string& name, const Entry& entry);
  void remove(std::string_view name);
  /// Puts another tensor in a variable's place, such as the whole of which it is a part; returns the variable's own.
  Entry replace(std::string_view name, Entry other);
  /// Swaps the values of two variables of equal size, in chunks.
  void exchange(std::string_view one, std::string_view other);

 private:
  void copy_in(const Entry& entry, std::size_t begin, const void* host, std::size_t bytes);
  void copy_out(const Entry& entry, std::size_t begin, void* host, std::size_t bytes) const;

  struct View {
    std::string name, base;
    std::int64_t byte_offset;
  };

  DeviceMemory& memory_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<View> pending_views_;
  std::vector<DeviceBuffer> buffers_;
};

}  // namespace ptrain
