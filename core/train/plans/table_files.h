// Memory of dynamic tables in files, for tables larger than memory: the kernel keeps the rows that are read often.
#pragma once

#include "core/exec/variables.h"
#include "core/model/model.h"

#include <filesystem>
#include <vector>

namespace ptrain {

/// The files have no names and end with the process; checkpoints hold the rows. Their blocks are reserved at once, so
/// that a full disk is an error before training and no SIGBUS later.
class TableFiles {
 public:
  /// Gives the variables of the model's dynamic table, which have no memory yet, zeroed memory in files of `folder`,
  /// which is made if there is none. Throws Error{failed} naming the folder where it has no room for the capacity.
  TableFiles(const std::filesystem::path& folder, const Model& model, Variables& variables);
  ~TableFiles();
  TableFiles(const TableFiles&) = delete;
  TableFiles& operator=(const TableFiles&) = delete;

 private:
  struct Mapping {
    void* memory;
    std::size_t bytes;
  };
  std::vector<Mapping> mappings_;
};

}  // namespace ptrain
