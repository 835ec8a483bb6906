#include "core/data/find_data.h"

#include "core/config/text.h"
#include "core/data/source_registry.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

using Rows = std::vector<const DataSourceRow*>;

/// Sources that recognise their files, in the order to try them.
Rows recognized_rows() {
  Rows rows;
  for (const DataSourceRow& row : data_source_rows()) {
    if (row.recognition) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto* a, const auto* b) { return a->recognition->order < b->recognition->order; });
  return rows;
}

[[noreturn]] void refuse_path(const fs::path& path, const Rows& rows) {
  std::vector<std::string> folders, files{"a folder"};
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {  // the most general is tried last and named first
    const Recognition& recognition = *(*row)->recognition;
    folders.push_back(recognition.folder);
    if (!recognition.single.empty()) files.push_back(recognition.single);
  }
  if (!fs::exists(path)) fail_usage("{}: no such file or folder", path.string());
  if (!fs::is_directory(path)) fail_usage("{}: expected {}", path.string(), fmt::join(files, ", or "));
  fail_usage("{}: expected {}", path.string(), join_words(folders, "or"));
}

}  // namespace

DataSettings find_data(const fs::path& path, const ColumnNames& columns) {
  const Rows rows = recognized_rows();
  const bool is_folder = fs::is_directory(path), is_file = fs::is_regular_file(path);
  for (const DataSourceRow* row : rows) {
    if (!is_folder && (!is_file || row->recognition->single.empty())) continue;
    if (std::optional<DataSettings> settings = row->recognition->find(path, columns)) {
      settings->source = row->entry.name;
      return *settings;
    }
  }
  refuse_path(path, rows);
}

SampleCounts count_samples(const DataSettings& settings) {
  const DataSourceRow& row = find_source_row(settings.source);
  return row.recognition ? row.recognition->count(settings) : count_opened(settings);
}

SampleCounts count_opened(const DataSettings& settings) {
  open_dataset(settings, Split::eval);  // throws if the data is not valid
  const std::unique_ptr<Dataset> training = open_dataset(settings, Split::train);
  const DatasetInfo& info = training->info();
  return {training->size(), info.classes, info.image_size, info.frames, training->notes()};
}

}  // namespace ptrain
