// Encoders for the data tests.
#include "tests/unit/data/test_files.h"

#include <cstdio>
#include "core/data/tensor_names.h"

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <array>
#include <cstdlib>

namespace ptrain {

std::vector<std::uint8_t> make_picture(int width, int height) {
  std::vector<std::uint8_t> rgb;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      rgb.push_back(static_cast<std::uint8_t>(255 * x / width));
      rgb.push_back(static_cast<std::uint8_t>(255 * y / height));
      rgb.push_back(static_cast<std::uint8_t>(255 * (x + y) / (width + height)));
    }
  }
  return rgb;
}

std::string_view to_string(JpegKind kind) {
  constexpr std::array<std::string_view, 4> names{"rgb", "grey", "cmyk", "progressive"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<std::uint8_t> encode_jpeg(const std::vector<std::uint8_t>& rgb, int width, int height, JpegKind kind) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = kind == JpegKind::grey ? 1 : kind == JpegKind::cmyk ? 4 : 3;
  info.in_color_space = kind == JpegKind::grey ? JCS_GRAYSCALE : kind == JpegKind::cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  if (kind == JpegKind::cmyk) info.write_Adobe_marker = TRUE;
  if (kind == JpegKind::progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<std::uint8_t> row;
  for (int y = 0; y < height; ++y) {
    row.clear();
    for (int x = 0; x < width; ++x) {
      const std::uint8_t* pixel = rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * width + x);
      row.insert(row.end(), pixel, pixel + (kind == JpegKind::grey ? 1 : 3));
      if (kind == JpegKind::cmyk) row.push_back(255);  // Adobe's inverted form: no black
    }
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&info, &rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<std::uint8_t> bytes(buffer, buffer + size);
  std::free(buffer);
  return bytes;
}

std::vector<std::uint8_t> encode_png(const std::vector<std::uint8_t>& rgb, int width, int height, int color_type,
                                     int depth) {
  std::vector<std::uint8_t> bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp writer, png_bytep data, png_size_t count) {
        auto* out = static_cast<std::vector<std::uint8_t>*>(png_get_io_ptr(writer));
        out->insert(out->end(), data, data + count);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), depth, color_type,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_color palette[256];
  for (int i = 0; i < 256; ++i) palette[i] = {static_cast<png_byte>(i), static_cast<png_byte>(255 - i), 7};
  if (color_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 256);
  png_write_info(png, info);
  const int channels = png_get_channels(png, info);
  for (int y = 0; y < height; ++y) {
    std::vector<std::uint8_t> row;
    for (int x = 0; x < width; ++x) {
      const std::uint8_t* pixel = rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * width + x);
      for (int c = 0; c < channels; ++c) {
        const std::uint8_t value = channels >= 3 && c < 3 ? pixel[c] : pixel[0];
        row.push_back(value);
        if (depth == 16) row.push_back(value);
      }
    }
    png_write_row(png, row.data());
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

std::vector<std::uint8_t> gzip(std::span<const std::uint8_t> bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::vector<std::uint8_t> out(deflateBound(&stream, static_cast<uLong>(bytes.size())));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::vector<std::uint8_t> make_idx(const std::vector<std::uint32_t>& dims, const std::vector<std::uint8_t>& values) {
  std::vector<std::uint8_t> bytes{0, 0, 8, static_cast<std::uint8_t>(dims.size())};
  for (const std::uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(dim >> shift));
  }
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

Batch load_sample(const Dataset& data, std::int64_t index, SampleRandom random) {
  Batch batch(data.tensors({}), 1);
  batch.count = 1;
  Scratch scratch;
  data.load(index, random, scratch, SampleRow(batch, 0));
  return batch;
}

LoadedImage load_image(const Dataset& data, std::int64_t index, std::uint64_t epoch) {
  const Batch batch = load_sample(data, index, SampleRandom(0, epoch, index));
  const auto pixels = batch.values<std::uint8_t>(tensor_names::images);
  return {batch.values<std::int32_t>(tensor_names::labels)[0], {pixels.begin(), pixels.end()}};
}

}  // namespace ptrain
