// A device that computes, as the executor sees it: its memory, its stream, its kernels. Who needs one of them takes
// that one alone.
#pragma once

#include "core/exec/device_memory.h"
#include "core/exec/instruments.h"
#include "core/exec/kernel_library.h"
#include "core/exec/stream.h"
#include "core/io/image_decoder.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ptrain {

/// A device that computes beside the host.
struct DeviceInfo {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::string compute_capability;  // "9.0"
};

/// What a run's environment holds of a backend.
struct BackendInfo {
  std::vector<DeviceInfo> devices;                  // none where the host computes
  std::map<std::string, std::string> versions;      // of libraries and drivers
  std::map<std::string, std::string> files;         // where those lie that a backend found when the program started
  std::map<std::string, std::string> missing = {};  // of libraries that were not found: for what, and how to get them
};

/// Outlives its parts, and whatever is made by them.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // "cpu", "cuda"
  /// The libraries that compute, with versions: "oneDNN 3.2.0".
  virtual std::string library() const = 0;
  virtual BackendInfo info() const { return {}; }
  /// What went another way than planned since the last call, a line each: the run's notes.
  virtual std::vector<std::string> take_notes() { return {}; }

  virtual DeviceMemory& memory() = 0;
  virtual Stream& stream() = 0;
  virtual KernelLibrary& kernels() = 0;
  virtual const Instruments& instruments() = 0;

  /// All-reduces of device memory among the ranks that `host` reaches; both outlive them, as plans with them must not.
  /// The host's own where it reads device memory.
  virtual std::shared_ptr<Collectives> make_collectives(HostCollectives& host) {
    return {std::shared_ptr<Collectives>(), &host};
  }
  /// Decoders of JPEGs; empty where the device has none. The backend outlives them. Throws Error{failed} saying why
  /// they cannot be made.
  virtual MakeImageDecoder image_decoders() { return {}; }
};

}  // namespace ptrain
