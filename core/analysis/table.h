// The benchmark table: one row per case, every cell with its source files and fields.
#pragma once

#include "core/analysis/run_set.h"
#include "core/analysis/speed.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

struct CellSource {
  std::filesystem::path file;
  std::string pointer;  // JSON pointer into it
};

struct TableCell {
  std::string text;      // "113.8 images/s"; "-" where nothing was measured
  nlohmann::json value;  // number or text; null where nothing was measured
  std::vector<CellSource> sources;
  // Only for a measured figure:
  std::string unit = {};  // of the value: "images/s"
  std::int64_t runs = 0;  // number of runs
  std::optional<double> lower = {}, upper = {};
  std::string missing = {};  // why there is no value
};

struct TableColumn {
  std::string id;
  std::string title;
  bool numeric = false;
  bool measured = false;  // cells have a unit, a number of runs and an interval

  void describe(Fields& field) {
    field("id", id, "");
    field("title", title, "includes the estimator of a speed");
  }
};

struct TableRow {
  std::string name;              // of the case
  std::filesystem::path link;    // report, or folder of the runs
  std::vector<TableCell> cells;  // by column
};

struct Table {
  std::vector<TableColumn> columns;
  SpeedEstimator estimator = SpeedEstimator::typical_step;
  std::vector<TableRow> rows;
};

struct SourceDocument {
  std::string file;
  std::string pointer;

  void describe(Fields& field) {
    field("file", file, "");
    field("pointer", pointer, "JSON pointer into it");
  }
};

struct CellDocument {
  std::string column;
  std::string text;
  nlohmann::json value;
  std::string unit;
  std::int64_t runs = 0;
  std::optional<double> lower, upper;
  std::vector<SourceDocument> sources;

  void describe(Fields& field) {
    field("column", column, "id");
    field("text", text, "as shown");
    field.any("value", value, {"number", "string", "null"}, "null: nothing was measured");
    field("unit", unit, "unit of value; empty: no measured figure");
    field("runs", runs, "number of runs of the figure");
    field.any_sign("lower", lower, "lower end of the 95 % interval; null: none");
    field.any_sign("upper", upper, "");
    field("sources", sources, "files and fields that it was made from");
  }
};

struct RowDocument {
  std::string name;
  std::string link;
  std::vector<CellDocument> cells;

  void describe(Fields& field) {
    field("case", name, "");
    field("link", link, "report or folder of runs");
    field("cells", cells, "");
  }
};

/// The table as `ptrain.table/1`.
struct TableDocument {
  std::vector<TableColumn> columns;
  SpeedEstimator estimator = SpeedEstimator::typical_step;
  std::vector<RowDocument> rows;

  void describe(Fields& field) {
    field.document("ptrain.table/1", "A benchmark table.");
    field("columns", columns, "");
    field.choice("speed_estimator", estimator, SpeedEstimator::samples_over_time, "how a run's speed is computed");
    field("rows", rows, "");
  }
};

/// All available columns.
const std::vector<TableColumn>& table_columns();
/// "run,precision,batch,speed,step,memory,accuracy", to which make_table() adds "published" where a case has that
/// value.
std::string default_columns();

/// A row for every case of every set. `columns` is a comma-separated list of column ids. Throws Error{usage} for an
/// unknown id.
Table make_table(std::span<const RunSet> sets, const std::string& columns);

/// Why cells have no value: a line for each reason, with the cases that it holds for.
std::vector<std::string> table_footnotes(const Table& table);

/// The path of a file from the folder `from`; empty for an empty one.
std::string make_relative(const std::filesystem::path& file, const std::filesystem::path& from);

/// Files in links and sources are relative to `from`, the folder of the text.
std::string table_markdown(const Table& table, const std::filesystem::path& from);
std::string table_csv(const Table& table, const std::filesystem::path& from);
/// A tabular environment.
std::string table_latex(const Table& table);
TableDocument table_document(const Table& table, const std::filesystem::path& from);
/// Aligned columns for a terminal, and the footnotes.
std::string table_text(const Table& table);

}  // namespace ptrain
