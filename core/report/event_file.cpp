// TensorBoard: length, masked CRC-32C of the length, tensorflow.Event and its masked CRC-32C. VisualDL: length and
// visualdl.Record, one for each number, since its reader takes a record's first. All little endian; field numbers are
// those of event.proto, summary.proto and record.proto.
#include "core/report/event_file.h"

#include "core/io/crc32c.h"
#include "core/io/run_files.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

namespace ptrain {
namespace {

using Scalars = std::vector<std::pair<std::string, double>>;

enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

template <typename T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes += static_cast<char>(value);
}

std::string field(unsigned number, Wire wire, const std::string& payload) {
  return varint(number << 3 | static_cast<unsigned>(wire)) + payload;
}
std::string integer(unsigned number, std::int64_t value) {
  return field(number, Wire::varint, varint(static_cast<std::uint64_t>(value)));
}
std::string real(unsigned number, double value) {
  return field(number, Wire::fixed64, little_endian(std::bit_cast<std::uint64_t>(value)));
}
std::string real32(unsigned number, double value) {
  return field(number, Wire::fixed32, little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(value))));
}
std::string bytes(unsigned number, const std::string& content) {
  return field(number, Wire::bytes, varint(content.size()) + content);
}

std::string checksum(const std::string& content) {
  return little_endian(masked_crc32c({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()}));
}

std::string frame(EventFormat format, const std::string& content) {
  const std::string length = little_endian(static_cast<std::uint64_t>(content.size()));
  if (format == EventFormat::visualdl) return length + content;
  return length + checksum(length) + content + checksum(content);
}

std::int64_t count_milliseconds(double time) { return std::llround(time * 1e3); }

/// What a file begins with: its version, or a mark and an empty display name, for which the folder's stands.
std::string begin(EventFormat format, double time) {
  if (format == EventFormat::tensorboard) return frame(format, real(1, time) + bytes(3, "brain.Event:2"));
  return frame(format, bytes(1, bytes(2, "meta_data_tag") + integer(3, count_milliseconds(time)) + bytes(10, "")));
}

Scalars list_scalars(const StepLine& line) {
  Scalars list{{"train/loss", line.loss},
               {"train/lr", line.lr},
               {"train/step_ms", line.step_ms},
               {"train/reader_ms", line.reader_ms}};
  if (line.step_ms > 0) {
    list.emplace_back("train/samples_per_second", static_cast<double>(line.samples) / line.step_ms * 1e3);
  }
  if (line.loss_scale) list.emplace_back("train/loss_scale", *line.loss_scale);
  for (const auto& [name, loss] : line.losses) list.emplace_back("train/losses/" + name, loss);
  return list;
}

Scalars list_scalars(const EvaluationLine& line) {
  Scalars list{{"eval/loss", line.eval.loss}};
  for (const auto& [name, value] : line.eval.figures) {
    if (value) list.emplace_back("eval/" + name, *value);
  }
  return list;
}

std::string format_line(EventFormat format, const MetricsLine& line, double time) {
  const auto [step, scalars] = std::visit([](const auto& one) { return std::pair(one.step, list_scalars(one)); }, line);
  std::string records, summary;
  for (const auto& [tag, value] : scalars) {
    if (!std::isfinite(value)) continue;
    summary += bytes(1, bytes(1, tag) + real32(2, value));
    const std::string place = integer(1, step) + bytes(2, tag) + integer(3, count_milliseconds(time));
    records += frame(EventFormat::visualdl, bytes(1, place + real32(4, value)));
  }
  if (format == EventFormat::visualdl) return records;
  return frame(format, real(1, time) + integer(2, step) + bytes(5, summary));
}

std::optional<double> find_time(const MetricsLine& line) {
  return std::visit([](const auto& one) { return one.time; }, line);
}

double read_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

const char* name_file(EventFormat format) {
  return format == EventFormat::tensorboard ? run_files::tensorboard : run_files::visualdl;
}

}  // namespace

std::string format_events(EventFormat format, std::span<const MetricsLine> lines) {
  double last = 0;
  for (const MetricsLine& line : lines) last = find_time(line).value_or(last);
  if (last == 0) last = read_clock();
  std::string all = begin(format, lines.empty() ? last : find_time(lines.front()).value_or(last));
  for (const MetricsLine& line : lines) all += format_line(format, line, find_time(line).value_or(last));
  return all;
}

EventFile::EventFile(const std::filesystem::path& folder, EventFormat format, std::span<const MetricsLine> earlier)
    : format_(format), file_(folder / name_file(format), format_events(format, earlier)) {}

void EventFile::write(const MetricsLine& line) {
  file_.append(format_line(format_, line, find_time(line).value_or(read_clock())));
}

}  // namespace ptrain
