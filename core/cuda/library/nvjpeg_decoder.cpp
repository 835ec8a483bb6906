#include "core/cuda/library/nvjpeg_decoder.h"

#include "core/base/errors.h"
#include "core/cuda/device/check.h"
#include "core/cuda/library/nvjpeg_functions.h"

#include <utility>

namespace ptrain::cuda {
namespace {

using Status = NvjpegFunctions::Status;

constexpr int default_backend = 0;                // NVJPEG_BACKEND_DEFAULT
constexpr unsigned strict = 1u << 2;              // NVJPEG_FLAGS_BITSTREAM_STRICT: rejects invalid streams
constexpr unsigned interpolate_chroma = 1u << 5;  // NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION, as libjpeg does
constexpr int interleaved_rgb = 5;                // NVJPEG_OUTPUT_RGBI
constexpr Status bad_jpeg = 3, not_supported = 4, allocator_failed = 5, not_implemented = 9, incomplete = 10;
constexpr std::size_t most_bytes = std::size_t{96} << 20;  // of a decoder's pixels; the host decodes larger images

void check(Status status, const char* call) {
  if (status == 0) return;
  const std::string message = fmt::format("nvJPEG: status {} from {}", status, call);
  if (status == allocator_failed) {
    throw OutOfMemory(message +
                      "; each of data.workers takes device memory for decoding, with data.decoder cpu none does");
  }
  throw Error(ExitCode::failed, message);
}

/// The library, shared by all decoders.
struct Nvjpeg {
  explicit Nvjpeg(int index) : device_index(index) {
    if (find_nvjpeg() == nullptr) fail("{}", nvjpeg_missing());
    functions = *find_nvjpeg();
    check(functions.create(default_backend, nullptr, nullptr, strict | interpolate_chroma, &handle), "nvjpegCreateEx");
  }
  ~Nvjpeg() { functions.destroy(handle); }
  Nvjpeg(const Nvjpeg&) = delete;
  Nvjpeg& operator=(const Nvjpeg&) = delete;

  int device_index;
  NvjpegFunctions functions{};
  NvjpegFunctions::Handle handle = nullptr;
};

class NvjpegDecoder final : public ImageDecoder {
 public:
  explicit NvjpegDecoder(std::shared_ptr<const Nvjpeg> library) : library_(std::move(library)) {
    CUDA_CHECK(cudaSetDevice(library_->device_index));
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(library_->functions.create_state(library_->handle, &state_), "nvjpegJpegStateCreate");
  }
  ~NvjpegDecoder() override {
    cudaStreamSynchronize(stream_);
    library_->functions.destroy_state(state_);
    release();
    cudaStreamDestroy(stream_);
  }

  std::span<const std::uint8_t> decode(std::span<const std::uint8_t> jpeg, int width, int height) override {
    const std::size_t row = 3 * static_cast<std::size_t>(width);
    const std::size_t bytes = row * static_cast<std::size_t>(height);
    if (bytes > most_bytes || !is_of_size(jpeg, width, height)) return {};
    CUDA_CHECK(cudaSetDevice(library_->device_index));
    reserve(bytes);
    NvjpegFunctions::Image image{{device_}, {row}};
    const Status status = library_->functions.decode(library_->handle, state_, jpeg.data(), jpeg.size(),
                                                     interleaved_rgb, &image, stream_);
    if (status == bad_jpeg || status == not_supported || status == not_implemented || status == incomplete) return {};
    check(status, "nvjpegDecode");
    CUDA_CHECK(cudaMemcpyAsync(pinned_, device_, bytes, cudaMemcpyDeviceToHost, stream_));
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    return {pinned_, bytes};
  }

 private:
  /// Whether nvJPEG reads the same size from the header: its output must fit.
  bool is_of_size(std::span<const std::uint8_t> jpeg, int width, int height) const {
    int components = 0, subsampling = 0, widths[4] = {}, heights[4] = {};
    const Status status = library_->functions.image_info(library_->handle, jpeg.data(), jpeg.size(), &components,
                                                         &subsampling, widths, heights);
    return status == 0 && widths[0] == width && heights[0] == height;
  }

  void reserve(std::size_t bytes) {
    if (bytes <= capacity_) return;
    release();
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, bytes));
    device_ = static_cast<std::uint8_t*>(memory);
    CUDA_CHECK(cudaMallocHost(&memory, bytes));
    pinned_ = static_cast<std::uint8_t*>(memory);
    capacity_ = bytes;
  }

  void release() {
    cudaFree(std::exchange(device_, nullptr));
    cudaFreeHost(std::exchange(pinned_, nullptr));
    capacity_ = 0;
  }

  std::shared_ptr<const Nvjpeg> library_;
  cudaStream_t stream_ = nullptr;
  NvjpegFunctions::State state_ = nullptr;
  std::size_t capacity_ = 0;  // of both; the largest image so far
  std::uint8_t* device_ = nullptr;
  std::uint8_t* pinned_ = nullptr;
};

}  // namespace

MakeImageDecoder make_nvjpeg_decoders(const Device& device) {
  const auto library = std::make_shared<const Nvjpeg>(device.index());
  return [library] { return std::make_unique<NvjpegDecoder>(library); };
}

}  // namespace ptrain::cuda
