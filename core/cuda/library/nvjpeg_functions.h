// nvJPEG's functions, found by name when they are first asked for: only who decodes on the GPU needs the library. Types
// are those of nvjpeg.h, the same in CUDA 12 and 13, which is not needed to build.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace ptrain::cuda {

struct NvjpegFunctions {
  using Status = int;  // nvjpegStatus_t, 0: done
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

/// Null where there is no library, or one without these functions.
const NvjpegFunctions* find_nvjpeg();

/// Why it is null, with what brings the library.
inline std::string nvjpeg_missing() {
  constexpr int cuda_major = CUDART_VERSION / 1000;
  return fmt::format("libnvjpeg.so.{} was not found; to get it: pip install nvidia-nvjpeg{}", cuda_major,
                     cuda_major == 12 ? "-cu12" : "");
}

}  // namespace ptrain::cuda
