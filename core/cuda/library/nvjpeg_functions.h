// nvJPEG's functions, loaded by name at first use, so that only decoding on the GPU needs the library. Types match
// nvjpeg.h, which is the same in CUDA 12 and 13 and not needed to build.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace ptrain::cuda {

struct NvjpegFunctions {
  using Status = int;  // nvjpegStatus_t, 0: success
  using Handle = void*;
  using State = void*;
  /// nvjpegImage_t
  struct Image {
    unsigned char* channel[4];
    std::size_t pitch[4];
  };

  Status (*get_property)(int part, int* value);  // 0: major, 1: minor, 2: patch
  Status (*create)(int backend, void* device_allocator, void* pinned_allocator, unsigned flags, Handle*);
  Status (*destroy)(Handle);
  Status (*create_state)(Handle, State*);
  Status (*destroy_state)(State);
  Status (*image_info)(Handle, const unsigned char* jpeg, std::size_t bytes, int* components, int* subsampling,
                       int* widths, int* heights);  // of four components
  Status (*decode)(Handle, State, const unsigned char* jpeg, std::size_t bytes, int format, Image*, cudaStream_t);
};

/// Null if the library is missing or lacks these functions.
const NvjpegFunctions* find_nvjpeg();

/// Why it is null, and how to get the library.
inline std::string nvjpeg_missing() {
  constexpr int cuda_major = CUDART_VERSION / 1000;
  return fmt::format("libnvjpeg.so.{} was not found; to get it: pip install nvidia-nvjpeg{}", cuda_major,
                     cuda_major == 12 ? "-cu12" : "");
}

}  // namespace ptrain::cuda
