// nvJPEG as far as the backend calls it, by libjpeg: whole images, by an inverse DCT that rounds otherwise than that of
// the CPU's path, with damage noticed only where libjpeg cannot continue.
#include "core/cuda/library/nvjpeg_functions.h"
#include "tests/emulation/emulated_stream.h"
#include "tests/emulation/faults.h"

#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <atomic>
#include <csetjmp>

namespace {

using ptrain::cuda::NvjpegFunctions;
using Status = NvjpegFunctions::Status;

// nvjpegStatus_t, nvjpegOutputFormat_t and the flags
constexpr Status done = 0, bad_jpeg = 3, not_supported = 4, internal_error = 8, not_implemented = 9;
constexpr int rgb_interleaved = 5;
constexpr unsigned interpolate_chroma = 1u << 5;

struct Handle {
  bool interpolates_chroma;
};
struct State {
  std::atomic<bool> busy = false;
};

[[noreturn]] void give_up(j_common_ptr info) { std::longjmp(*static_cast<std::jmp_buf*>(info->client_data), 1); }

/// work(info, argument) with a JPEG whose header is read.
Status read(const unsigned char* jpeg, std::size_t bytes, Status (*work)(jpeg_decompress_struct&, void*),
            void* argument) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf escape{};
  info.err = jpeg_std_error(&errors);
  info.client_data = &escape;
  errors.error_exit = give_up;
  errors.output_message = [](j_common_ptr) {};
  if (setjmp(escape) != 0) {
    jpeg_destroy_decompress(&info);
    return bad_jpeg;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, jpeg, static_cast<unsigned long>(bytes));
  jpeg_read_header(&info, TRUE);
  const Status status = work(info, argument);
  jpeg_destroy_decompress(&info);
  return status;
}

Status get_property(int part, int* value) { return *value = part == 0 ? CUDART_VERSION / 1000 : 0, done; }

Status create(int, void*, void*, unsigned flags, void** handle) {
  *handle = new Handle{(flags & interpolate_chroma) != 0};
  return done;
}
Status destroy(void* handle) {
  delete static_cast<Handle*>(handle);
  return done;
}
Status create_state(void*, void** state) {
  *state = new State;
  return done;
}
Status destroy_state(void* state) {
  delete static_cast<State*>(state);
  return done;
}

struct Size {
  int width, height;
};

Status image_info(void*, const unsigned char* jpeg, std::size_t bytes, int*, int*, int* widths, int* heights) {
  Size size{};
  const auto work = [](jpeg_decompress_struct& info, void* found) {
    *static_cast<Size*>(found) = {static_cast<int>(info.image_width), static_cast<int>(info.image_height)};
    return done;
  };
  const Status status = read(jpeg, bytes, work, &size);
  widths[0] = size.width;
  heights[0] = size.height;
  return status;
}

struct Target {
  const NvjpegFunctions::Image& image;
  bool interpolates_chroma;
};

Status decode_rgb(jpeg_decompress_struct& info, void* argument) {
  const Target& target = *static_cast<const Target*>(argument);
  if (info.num_components == 4 || info.arith_code != 0) return not_supported;
  info.out_color_space = JCS_RGB;
  info.dct_method = JDCT_FLOAT;
  info.do_fancy_upsampling = target.interpolates_chroma ? TRUE : FALSE;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = target.image.channel[0] + target.image.pitch[0] * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  return done;
}

Status decode(void* handle, void* state, const unsigned char* jpeg, std::size_t bytes, int format,
              NvjpegFunctions::Image* image, cudaStream_t stream) {
  if (emulation::fails("nvJPEG implementation")) return not_implemented;
  State& mine = *static_cast<State*>(state);
  if (format != rgb_interleaved || mine.busy.exchange(true)) return internal_error;
  Status status = done;
  Target target{*image, static_cast<Handle*>(handle)->interpolates_chroma};
  emulation::enqueue(stream, [&] { status = read(jpeg, bytes, decode_rgb, &target); });
  mine.busy = false;
  return status;
}

}  // namespace

const NvjpegFunctions* ptrain::cuda::find_nvjpeg() {
  static constexpr NvjpegFunctions functions{get_property,  create,     destroy, create_state,
                                             destroy_state, image_info, decode};
  return emulation::fails("no nvJPEG") ? nullptr : &functions;
}
