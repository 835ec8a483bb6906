// Detects tables of texts that a user names: one file, or a folder with a file named train.
#include "core/data/sources.h"
#include "core/data/split.h"
#include "core/data/text/label_classes.h"
#include "core/data/text/text_table.h"
#include "core/io/packed_file.h"

#include <algorithm>
#include <iterator>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// "train.csv" of a folder that has one; empty if there is none.
std::string table_named(const fs::path& folder, const std::string& stem) {
  for (const char* ending : {".tsv", ".csv", ".jsonl", ".ndjson", ".json"}) {
    for (const char* packed : {"", ".gz"}) {
      if (std::string name = stem + ending + packed; fs::is_regular_file(folder / name)) return name;
    }
  }
  return {};
}

}  // namespace

FoundData find_text_table(const fs::path& path, const ColumnNames& columns) {
  const bool is_folder = fs::is_directory(path);
  if (!is_folder && !detect_table_form(path)) return std::nullopt;
  const fs::path folder = is_folder ? path : path.parent_path();
  DataSettings settings;
  settings.train_file = is_folder ? table_named(path, "train") : path.filename().string();
  if (settings.train_file.empty()) return std::nullopt;
  settings.path = folder.empty() ? "." : folder.string();
  settings.columns = columns;
  if (remove_packed_ending(settings.train_file).stem() == "train") settings.dev_file = table_named(folder, "dev");
  if (settings.dev_file.empty()) settings.dev_fraction = default_dev_fraction;
  return settings;
}

SampleCounts count_text_table(const DataSettings& settings) {
  const TextTable table = read_text_table(fs::path(settings.path) / settings.train_file, {.columns = settings.columns});
  LabelClasses classes = collect_classes(table);
  SampleCounts counts{static_cast<std::int64_t>(table.rows.size()), static_cast<std::int64_t>(classes.names.size())};
  counts.notes = table.notes;
  std::ranges::move(classes.notes, std::back_inserter(counts.notes));
  return counts;
}

}  // namespace ptrain
