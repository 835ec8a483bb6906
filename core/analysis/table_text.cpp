// The table as markdown, LaTeX, CSV, JSON and plain text.
#include "core/analysis/latex.h"
#include "core/analysis/markdown.h"
#include "core/analysis/table.h"
#include "core/base/text_columns.h"
#include "core/report/csv.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string format_csv_value(const json& value) {
  if (value.is_null()) return "";
  return csv_field(value.is_string() ? value.get<std::string>() : value.dump());
}

std::vector<std::string> cell_texts(const TableRow& row) {
  std::vector<std::string> texts;
  for (const TableCell& cell : row.cells) texts.push_back(cell.text);
  return texts;
}

}  // namespace

std::string make_relative(const fs::path& file, const fs::path& from) {
  if (file.empty()) return "";
  return fs::absolute(file).lexically_normal().lexically_relative(fs::absolute(from / ".").lexically_normal()).string();
}

std::string table_markdown(const Table& table, const fs::path& from) {
  std::string head = "|", rule = "|", body;
  for (const TableColumn& column : table.columns) {
    head += fmt::format(" {} |", column.title);
    rule += column.numeric ? " ---: |" : " --- |";
  }
  for (const TableRow& row : table.rows) {
    body += "|";
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string text = markdown_cell(row.cells[i].text);
      const std::string link = table.columns[i].id == "run" ? make_relative(row.link, from) : "";
      body += link.empty() ? fmt::format(" {} |", text) : fmt::format(" [{}]({}) |", text, link);
    }
    body += "\n";
  }
  return fmt::format("{}\n{}\n{}", head, rule, body);
}

std::string table_csv(const Table& table, const fs::path& from) {
  std::string text;
  for (const TableColumn& column : table.columns) {
    text += column.id + ",";
    if (column.measured) text += fmt::format("{0}_lower,{0}_upper,{0}_unit,{0}_n,", column.id);
  }
  text += "speed_estimator,source\n";
  for (const TableRow& row : table.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const TableCell& cell = row.cells[i];
      text += format_csv_value(cell.value) + ",";
      if (!table.columns[i].measured) continue;
      for (const auto& bound : {cell.lower, cell.upper}) text += (bound ? json(*bound).dump() : "") + ",";
      text += fmt::format("{},{},", cell.unit, cell.runs);
    }
    text += fmt::format("{},{}\n", to_string(table.estimator), csv_field(make_relative(row.link, from)));
  }
  return text;
}

std::string table_latex(const Table& table) {
  std::vector<LatexColumn> columns;
  for (const TableColumn& column : table.columns) columns.push_back({column.title, column.numeric});
  std::vector<std::vector<std::string>> rows;
  for (const TableRow& row : table.rows) rows.push_back(cell_texts(row));
  return latex_tabular(columns, rows);
}

TableDocument table_document(const Table& table, const fs::path& from) {
  TableDocument document{table.columns, table.estimator, {}};
  for (const TableRow& row : table.rows) {
    RowDocument& written = document.rows.emplace_back(RowDocument{row.name, make_relative(row.link, from), {}});
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const TableCell& cell = row.cells[i];
      CellDocument& made = written.cells.emplace_back(
          CellDocument{table.columns[i].id, cell.text, cell.value, cell.unit, cell.runs, cell.lower, cell.upper, {}});
      for (const CellSource& s : cell.sources) made.sources.push_back({make_relative(s.file, from), s.pointer});
    }
  }
  return document;
}

std::string table_text(const Table& table) {
  std::vector<Align> aligned;
  std::vector<std::vector<std::string>> rows(1);
  for (const TableColumn& column : table.columns) {
    aligned.push_back(column.numeric ? Align::right : Align::left);
    rows.front().push_back(column.title);
  }
  for (const TableRow& row : table.rows) rows.push_back(cell_texts(row));
  std::string text = align_columns(rows, aligned);
  for (const std::string& line : table_footnotes(table)) text += fmt::format("-: {}\n", line);
  return text;
}

}  // namespace ptrain
