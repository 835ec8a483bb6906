// Wraps libpng with setjmp: its errors become BadSample. The function that calls setjmp has no local with a destructor.
#include "core/data/image/png_image.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

namespace ptrain {
namespace {

struct PngReader {
  std::span<const std::uint8_t> bytes;
  std::size_t position = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::vector<png_bytep> rows;
  char message[160] = "out of memory";
  struct {
    std::uint64_t width = 0, height = 0;
  } too_large;  // set instead of the message

  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof reader->message, "%s", message);
  png_longjmp(png, 1);
}

void on_read(png_structp png, png_bytep out, png_size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (reader->bytes.size() - reader->position < count) png_error(png, "data ends early (truncated file)");
  std::memcpy(out, reader->bytes.data() + reader->position, count);
  reader->position += count;
}

enum class PngForm { rgb, indices };

/// Makes libpng convert rows to RGB8, or leaves indices, one byte each. Returns the bytes of a pixel.
std::size_t convert_pixels(const PngReader& reader, PngForm form) {
  if (form == PngForm::rgb) {
    png_set_expand(reader.png);
    png_set_scale_16(reader.png);
    png_set_strip_alpha(reader.png);
    png_set_gray_to_rgb(reader.png);
    return 3;
  }
  const int type = png_get_color_type(reader.png, reader.info);
  if ((type != PNG_COLOR_TYPE_GRAY && type != PNG_COLOR_TYPE_PALETTE) ||
      png_get_bit_depth(reader.png, reader.info) > 8) {
    png_error(reader.png, "expected class numbers as grey levels of up to 8 bits or as a palette's");
  }
  png_set_packing(reader.png);
  return 1;
}

/// Returns false with reader.message set when the data is bad.
bool decode(PngReader& reader, PngForm form, DecodedImage& image, std::vector<std::uint8_t>& pixels) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, on_read);
  constexpr png_uint_32 longest_side = 1u << 16;
  png_set_user_limits(reader.png, longest_side, longest_side);
  png_set_chunk_malloc_max(reader.png, 8u << 20);
  png_read_info(reader.png, reader.info);

  const std::uint64_t width = png_get_image_width(reader.png, reader.info);
  const std::uint64_t height = png_get_image_height(reader.png, reader.info);
  const std::uint64_t raw_bytes = height * png_get_rowbytes(reader.png, reader.info);
  constexpr std::uint64_t deflate_ratio = 1032;
  if (width * height > most_pixels) {
    reader.too_large = {width, height};
    return false;
  }
  if (raw_bytes > (reader.bytes.size() + 64) * deflate_ratio) {
    png_error(reader.png, "header claims more pixels than the data can hold");
  }

  const std::size_t stride = static_cast<std::size_t>(width) * convert_pixels(reader, form);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  if (png_get_rowbytes(reader.png, reader.info) != stride) png_error(reader.png, "unsupported colour type");

  pixels.resize(stride * height);
  reader.rows.resize(height);
  for (std::size_t y = 0; y < height; ++y) reader.rows[y] = pixels.data() + stride * y;
  png_read_image(reader.png, reader.rows.data());
  png_read_end(reader.png, nullptr);
  image = {static_cast<int>(width), static_cast<int>(height), {pixels.data(), stride, 0, 0}};
  return true;
}

DecodedImage decode_as(PngForm form, std::span<const std::uint8_t> bytes, const std::string& name,
                       std::vector<std::uint8_t>& pixels) {
  PngReader reader;
  reader.bytes = bytes;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, [](png_structp, png_const_charp) {});
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  DecodedImage image;
  if (reader.info == nullptr || !decode(reader, form, image, pixels)) {
    require_readable_size(reader.too_large.width, reader.too_large.height, name);
    throw BadSample(
        fmt::format("{}: {}: {}", name, form == PngForm::rgb ? "corrupt PNG" : "no label map", reader.message));
  }
  return image;
}

/// Encodes rows of `values` in the format of `image`, whose size and colours are set.
std::vector<std::uint8_t> encode(png_image& image, std::span<const std::uint8_t> values, const void* colours) {
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::uint8_t> bytes(size);
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, values.data(), 0, colours) == 0) {
    fail("an image of {} x {} px cannot be encoded as PNG: {}", image.width, image.height, image.message);
  }
  bytes.resize(size);
  return bytes;
}

png_image describe_image(int width, int height, png_uint_32 format) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;
  return image;
}

}  // namespace

bool is_png(std::span<const std::uint8_t> bytes) { return bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0; }

DecodedImage decode_png(std::span<const std::uint8_t> bytes, const std::string& name,
                        std::vector<std::uint8_t>& pixels) {
  return decode_as(PngForm::rgb, bytes, name, pixels);
}

IndexImage decode_png_indices(std::span<const std::uint8_t> bytes, const std::string& name) {
  if (!is_png(bytes)) throw BadSample(fmt::format("{}: no label map: expected a PNG", name));
  IndexImage indices;
  const DecodedImage image = decode_as(PngForm::indices, bytes, name, indices.values);
  indices.width = image.width;
  indices.height = image.height;
  return indices;
}

std::vector<std::uint8_t> encode_png_indices(const IndexImage& indices,
                                             std::span<const std::array<std::uint8_t, 3>> colours) {
  png_image image = describe_image(indices.width, indices.height, PNG_FORMAT_RGB_COLORMAP);
  image.colormap_entries = static_cast<png_uint_32>(colours.size());
  return encode(image, indices.values, colours.data());
}

std::vector<std::uint8_t> encode_png(std::span<const std::uint8_t> pixels, int width, int height) {
  png_image image = describe_image(width, height, PNG_FORMAT_RGB);
  return encode(image, pixels, nullptr);
}

}  // namespace ptrain
