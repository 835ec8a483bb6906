// What a saved baseline is: a label, and when and with what its sweep was measured (`ptrain.baseline/1`).
#pragma once

#include "core/analysis/run_set.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

inline constexpr const char* baseline_file = "baseline.json";

struct BaselineRecord {
  std::string label;
  std::string saved;  // empty where the sweep was not saved
  std::string suite;
  Fingerprint machine;
  MeasuredSpan measured;
  std::string commit;
  std::string version;
  std::string binary;
  Software software;

  void describe(Fields& field) {
    field.document("ptrain.baseline/1", "A saved baseline; its suite.json and runs lie beside it.");
    field("label", label, "");
    field("saved", saved, "UTC");
    field("suite", suite, "");
    field("machine", machine, "");
    field("measured", measured, "when its first and its last run started");
    field("commit", commit, "as given, else the one that the program was built from; empty: not known");
    field("version", version, "of the program");
    field("binary", binary, "hash of the program");
    field("software", software, "driver and libraries");
  }
};

/// Of the sweep in `runs`, which is a benchmark's; `saved` and the label are left to the caller.
BaselineRecord make_baseline_record(const RunSet& runs);

struct SavedSweep {
  BaselineRecord record;
  RunSet runs;
};

/// Every sweep of a benchmark in `folder` and the folders below it, saved as a baseline or not, by the time that its
/// first run started. One without a baseline.json is labelled by its folder. `notes` gets a line for each that is left
/// out since another is of the same sweep. Throws Error{failed} where there is none.
std::vector<SavedSweep> load_saved_sweeps(const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace ptrain
