// Every data source: a row with what the configuration asks about it, how it is opened and how its files are known.
#pragma once

#include "core/config/source_catalog.h"
#include "core/data/factory.h"
#include "core/data/find_data.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace ptrain {

/// How data that a user names is known as a source's own.
struct Recognition {
  int order = 0;            // in which rows are asked: names that no other source has first, plain folders last
  std::string folder;       // what its folder holds, for the message where nothing is known
  std::string single = {};  // what one file may be in place of a folder; empty: none may
  /// Settings, but for the source's name, that open the data at `path`, a folder or, where one may be, a file; nothing
  /// where it is another source's.
  std::optional<DataSettings> (*find)(const std::filesystem::path& path, const ColumnNames& columns) = nullptr;
  SampleCounts (*count)(const DataSettings& settings) = count_opened;
};

struct DataSourceRow {
  DataSourceEntry entry;
  /// Throws as open_dataset() documents.
  std::unique_ptr<Dataset> (*open)(const DataSettings& settings, Split split);
  std::optional<Recognition> recognition = {};  // none: its files have no names of their own
};

/// In the order to list them.
const std::vector<DataSourceRow>& data_source_rows();
/// Throws Error{usage} when no source has this name.
const DataSourceRow& find_source_row(std::string_view name);
/// The rows as the configuration knows them: for Catalogs.
std::vector<DataSourceEntry> data_source_entries();

}  // namespace ptrain
