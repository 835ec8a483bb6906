// A compute device as the executor sees it: its memory, its stream, its kernels. Code that needs one of these takes
// only that one.
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

/// A device other than the host.
struct DeviceInfo {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::string compute_capability;  // "9.0"
};

/// The backend's part of a run's environment.
struct BackendInfo {
  std::vector<DeviceInfo> devices;                  // empty where the host computes
  std::map<std::string, std::string> versions;      // of libraries and drivers
  std::map<std::string, std::string> files;         // paths of what the backend loaded at program start
  std::map<std::string, std::string> missing = {};  // libraries that were not found: what for, and how to get them
};

/// Outlives its parts, and everything made by them.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // "cpu", "cuda"
  /// The libraries that compute, with versions: "oneDNN 3.2.0".
  virtual std::string library() const = 0;
  virtual BackendInfo info() const { return {}; }
  /// Returns and clears notes on deviations from what was planned, a line each, for the run's notes.
  virtual std::vector<std::string> take_notes() { return {}; }

  virtual DeviceMemory& memory() = 0;
  virtual Stream& stream() = 0;
  virtual KernelLibrary& kernels() = 0;
  virtual const Instruments& instruments() = 0;

  /// All-reduces of device memory among the ranks that `host` reaches; both must outlive them, and they must outlive
  /// plans that use them. Returns the host's own where it can read device memory.
  virtual std::shared_ptr<Collectives> make_collectives(HostCollectives& host) {
    return {std::shared_ptr<Collectives>(), &host};
  }
  /// JPEG decoders; empty where the device has none. The backend outlives them. Throws Error{failed} saying why they
  /// cannot be created.
  virtual MakeImageDecoder image_decoders() { return {}; }
};

}  // namespace ptrain
