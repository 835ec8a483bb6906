// The wrong predictions of a run that its model was most confident of.
#include "core/analysis/html/elements.h"
#include "core/analysis/html/run_page.h"
#include "core/io/atomic_file.h"
#include "core/io/base64.h"
#include "core/io/json_text.h"
#include "core/io/run_files.h"
#include "core/report/keep_top_errors.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

namespace ptrain::html {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct TopError {
  double size = 0;  // probability of the wrong class, or error of the value
  json line;
};

std::string get_text(const json& line, const char* key) {
  const auto found = line.find(key);
  return found == line.end() ? "" : found->is_string() ? found->get<std::string>() : found->dump();
}

/// Error of a line, by task: the probability of a wrong class, the error of a value, the fraction of wrong pixels; 0
/// for a correct line or one that is no prediction.
double compute_error(const json& line) {
  if (!line.is_object() || !line.contains("truth") || !line.contains("prediction")) return 0;
  if (const auto error = line.find("error"); error != line.end() && error->is_number()) return error->get<double>();
  const json &label = line["truth"], &prediction = line["prediction"];  // of earlier versions
  if (label.is_number() && prediction.is_number()) return std::abs(label.get<double>() - prediction.get<double>());
  const auto probability = line.find("probability");
  if (label == prediction || probability == line.end() || !probability->is_number()) return 0;
  return probability->get<double>();
}

std::vector<TopError> read_worst_errors(const fs::path& predictions) {
  std::vector<TopError> top_errors;
  std::istringstream lines(read_file(predictions));
  for (std::string text; std::getline(lines, text);) {
    json line = parse_json(text);
    const double size = compute_error(line);
    if (!(size > 0)) continue;
    top_errors.push_back({size, std::move(line)});
    if (top_errors.size() >= 8 * most_top_errors) keep_top_errors(top_errors, &TopError::size);
  }
  keep_top_errors(top_errors, &TopError::size);
  return top_errors;
}

/// The picture as a data URI; empty where it is too large or unreadable.
std::string embed_picture(const std::string& picture) {
  constexpr std::uintmax_t most_bytes = 8 << 20;
  if (picture.empty() || picture.starts_with("data:image/")) return picture;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(picture, error);
  if (error || size > most_bytes) return "";
  try {
    const std::string file = read_file(picture);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(file.data());
    const bool png = file.starts_with("\x89PNG"), jpeg = file.starts_with("\xff\xd8\xff");
    if (!png && !jpeg) return "";
    return data_uri(png ? "image/png" : "image/jpeg", {bytes, file.size()});
  } catch (const Error&) {
    return "";
  }
}

/// "dev.tsv:12", "t10k-images-idx3-ubyte.gz, record 7", or the picture's file.
std::string describe_place(const json& line) {
  std::string file = get_text(line, "file");
  if (file.empty()) file = get_text(line, "picture");
  if (file.empty() || file.starts_with("data:")) return "sample " + get_text(line, "index");
  if (line.contains("line")) return file + ":" + get_text(line, "line");
  if (line.contains("record")) return file + ", record " + get_text(line, "record");
  return file;
}

std::string describe_sample(const json& line) {
  const std::string second = get_text(line, "second");
  return get_text(line, "text") + (second.empty() ? "" : " | " + second);
}

}  // namespace

std::string mistakes_section(const MeasuredRun& run) {
  const fs::path predictions = run.report_file.parent_path() / run_files::predictions;
  if (run.report_file.filename() != run_files::report || !fs::is_regular_file(predictions)) return "";
  HtmlTable table{
      "Worst errors of the last evaluation: most confident wrong classes, largest errors of values, or most "
      "wrong pixels (colours of the prediction at the left, of the label at the right)",
      {{"Sample"}, {"label"}, {"prediction"}, {"probability or error", true}, {"where"}},
      {}};
  for (const TopError& error : read_worst_errors(predictions)) {
    HtmlCell sample(describe_sample(error.line));
    sample.picture = embed_picture(get_text(error.line, error.line.contains("overlay") ? "overlay" : "picture"));
    table.rows.push_back({sample, get_text(error.line, "truth"), get_text(error.line, "prediction"),
                          fmt::format("{:.4f}", error.size), describe_place(error.line)});
  }
  return table_section(table);
}

}  // namespace ptrain::html
