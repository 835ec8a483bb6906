// Wraps libjpeg-turbo with setjmp: its errors become BadSample. Functions that call setjmp have no local with a
// destructor.
#include "core/data/image/jpeg.h"

#include <cstddef>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <utility>

namespace ptrain {

struct JpegState {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX] = "";
  std::string name;
  std::vector<std::uint8_t> cmyk_row;
  bool created = false;
  bool has_end = false;

  [[noreturn]] void report() const { throw BadSample(fmt::format("{}: corrupt JPEG: {}", name, message)); }
};

namespace {

constexpr int most_scans = 200;                  // a progressive file has about ten
constexpr std::uint64_t pixels_per_byte = 1024;  // a block of 64 pixels takes at least a bit

[[noreturn]] void escape(j_common_ptr info) {
  auto* state = static_cast<JpegState*>(info->client_data);
  info->err->format_message(info, state->message);
  std::longjmp(state->escape, 1);
}

/// Damage that leaves wrong pixels is an error; other warnings (stray bytes between markers) are harmless.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE) escape(info);
}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= most_scans) return;
  auto* state = static_cast<JpegState*>(info->client_data);
  std::snprintf(state->message, sizeof state->message, "more than %d scans", most_scans);
  std::longjmp(state->escape, 1);
}

/// Adobe's CMYK is stored inverted, so that a channel times black is the colour.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::size_t width, bool inverted, std::uint8_t* rgb) {
  const int flip = inverted ? 0 : 255;
  for (std::size_t x = 0; x < width; ++x) {
    const int black = cmyk[4 * x + 3] ^ flip;
    for (std::size_t c = 0; c < 3; ++c) {
      rgb[3 * x + c] = static_cast<std::uint8_t>(((cmyk[4 * x + c] ^ flip) * black + 127) / 255);
    }
  }
}

}  // namespace

bool is_jpeg(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

JpegDecoder::JpegDecoder(std::span<const std::uint8_t> bytes, std::string name)
    : state_(std::make_unique<JpegState>()) {
  JpegState& s = *state_;
  s.name = std::move(name);
  s.info.err = jpeg_std_error(&s.errors);
  s.errors.error_exit = escape;
  s.errors.emit_message = on_message;
  s.errors.output_message = [](j_common_ptr) {};
  s.info.client_data = &s;
  if (setjmp(s.escape) != 0) {
    jpeg_destroy_decompress(&s.info);
    s.report();
  }
  jpeg_create_decompress(&s.info);
  s.info.client_data = &s;
  s.progress.progress_monitor = on_progress;
  s.info.progress = &s.progress;
  jpeg_mem_src(&s.info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&s.info, TRUE);
  const std::uint64_t pixels = std::uint64_t{s.info.image_width} * s.info.image_height;
  if (pixels > most_pixels) {
    jpeg_destroy_decompress(&s.info);
    require_readable_size(s.info.image_width, s.info.image_height, s.name);
  }
  if (pixels > bytes.size() * pixels_per_byte) {
    std::snprintf(s.message, sizeof s.message, "header claims %u x %u pixels, which %zu bytes cannot hold",
                  s.info.image_width, s.info.image_height, bytes.size());
    std::longjmp(s.escape, 1);
  }
  const bool four_channels = s.info.jpeg_color_space == JCS_CMYK || s.info.jpeg_color_space == JCS_YCCK;
  s.info.out_color_space = four_channels ? JCS_CMYK : JCS_RGB;
  s.has_end = bytes[bytes.size() - 2] == 0xff && bytes.back() == JPEG_EOI;
  s.created = true;
}

JpegDecoder::~JpegDecoder() {
  if (state_->created) jpeg_destroy_decompress(&state_->info);
}

int JpegDecoder::width() const { return static_cast<int>(state_->info.image_width); }
int JpegDecoder::height() const { return static_cast<int>(state_->info.image_height); }

bool JpegDecoder::is_plain() const {
  const jpeg_decompress_struct& info = state_->info;
  const bool one_scan = info.progressive_mode == 0 && info.comps_in_scan == info.num_components;
  const bool common = info.jpeg_color_space == JCS_YCbCr || info.jpeg_color_space == JCS_GRAYSCALE;
  return state_->has_end && one_scan && info.arith_code == 0 && common;
}

void JpegDecoder::set_scale(int denominator) {
  state_->info.scale_num = 1;
  state_->info.scale_denom = static_cast<unsigned>(denominator);
}

ImageView JpegDecoder::decode(const Box& region, std::vector<std::uint8_t>& pixels) {
  JpegState& s = *state_;
  if (setjmp(s.escape) != 0) s.report();
  jpeg_start_decompress(&s.info);

  // Chroma upsampling reads one sample to either side, so the decoded columns reach a little beyond the region.
  constexpr int margin = 2;
  const int full_width = static_cast<int>(s.info.output_width);
  const int left = std::max(0, region.x - margin);
  JDIMENSION x = static_cast<JDIMENSION>(left);
  JDIMENSION width = static_cast<JDIMENSION>(std::min(full_width, region.x + region.width + margin) - left);
  if (static_cast<int>(width) < full_width) jpeg_crop_scanline(&s.info, &x, &width);

  const auto top = static_cast<JDIMENSION>(region.y);
  const JDIMENSION bottom = std::min(s.info.output_height, top + static_cast<JDIMENSION>(region.height));
  const std::size_t stride = std::size_t{s.info.output_width} * 3;
  pixels.resize(stride * (bottom - top));
  if (s.info.out_color_space == JCS_CMYK) s.cmyk_row.resize(std::size_t{s.info.output_width} * 4);

  if (top > 0) jpeg_skip_scanlines(&s.info, top);
  while (s.info.output_scanline < bottom) {
    std::uint8_t* row = pixels.data() + stride * (s.info.output_scanline - top);
    JSAMPROW target = s.info.out_color_space == JCS_CMYK ? s.cmyk_row.data() : row;
    jpeg_read_scanlines(&s.info, &target, 1);
    if (s.info.out_color_space == JCS_CMYK) {
      cmyk_to_rgb(s.cmyk_row.data(), s.info.output_width, s.info.saw_Adobe_marker != 0, row);
    }
  }
  return {pixels.data(), stride, static_cast<int>(x), static_cast<int>(top)};
}

}  // namespace ptrain
