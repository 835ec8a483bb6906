// Fuzzes the reader of TSV, CSV and JSON lines, and what finds their encoding: any bytes give a table or an Error.
#include "core/base/errors.h"
#include "core/data/text/text_encoding.h"
#include "core/data/text/text_table.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string text(bytes);
  try {
    text = ptrain::decode_text(text, "fuzz", ptrain::TextEncoding::automatic).text;
  } catch (const ptrain::Error&) {  // then as it is
  }
  for (const ptrain::TableForm form : {ptrain::TableForm::tsv, ptrain::TableForm::csv, ptrain::TableForm::jsonl}) {
    for (const ptrain::ColumnNames& columns : {ptrain::ColumnNames{}, ptrain::ColumnNames{"a", "", "b"}}) {
      try {
        ptrain::parse_text_table(text, "fuzz", form, {.columns = columns});
      } catch (const ptrain::Error&) {
      }
    }
  }
  return 0;
}
