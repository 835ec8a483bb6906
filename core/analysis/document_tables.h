// Tables in a document, between marks that say what they are made from:
//
//     <!-- ptrain table results/machine/suite --columns run,speed,memory -->
//     | Run | ...
//     <!-- /ptrain -->
//
// "ptrain effects DIR" marks a table of effects. Paths are relative to the document.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

struct DocumentTables {
  std::string rendered;                  // the document with every marked table regenerated
  std::int64_t tables = 0;               // number of marked tables
  std::vector<std::string> differences;  // "README.md:31: says "...", the reports say "...""; empty when all agree
};

/// Throws Error{usage} for a mark that cannot be parsed, and what loading its reports throws.
DocumentTables render_document(const std::filesystem::path& document);

}  // namespace ptrain
