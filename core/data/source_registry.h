// Every data source: a row with its configuration keys, how it is opened and how its files are recognised.
#pragma once

#include "core/config/source_catalog.h"
#include "core/data/factory.h"
#include "core/data/find_data.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace ptrain {

/// How a source recognises data that a user names.
struct Recognition {
  int order = 0;            // order of trying the sources: those with distinctive names first, plain folders last
  std::string folder;       // what its folder contains, for the message if nothing is recognised
  std::string single = {};  // the single file that may replace a folder; empty: none
  /// Settings, except the source's name, that open the data at `path`, a folder or, if allowed, a file; none if it
  /// belongs to another source.
  std::optional<DataSettings> (*find)(const std::filesystem::path& path, const ColumnNames& columns) = nullptr;
  SampleCounts (*count)(const DataSettings& settings) = count_opened;
};

struct DataSourceRow {
  DataSourceEntry entry;
  /// Throws as open_dataset() documents.
  std::unique_ptr<Dataset> (*open)(const DataSettings& settings, Split split);
  std::optional<Recognition> recognition = {};  // none: its files have no distinctive names
};

/// In the order of listings.
const std::vector<DataSourceRow>& data_source_rows();
/// Throws Error{usage} when no source has this name.
const DataSourceRow& find_source_row(std::string_view name);
/// The rows for the configuration's Catalogs.
std::vector<DataSourceEntry> data_source_entries();

}  // namespace ptrain
