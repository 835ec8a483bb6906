// Record of a saved baseline: a label, and when and with what its sweep was measured (`ptrain.baseline/1`).
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
    field.document("ptrain.baseline/1", "A saved baseline; its suite.json and runs are in the same folder.");
    field("label", label, "");
    field("saved", saved, "UTC");
    field("suite", suite, "");
    field("machine", machine, "");
    field("measured", measured, "start of the first and of the last run");
    field("commit", commit, "as given, else the commit the program was built from; empty: unknown");
    field("version", version, "version of the program");
    field("binary", binary, "hash of the program");
    field("software", software, "versions of driver and libraries");
  }
};

/// Makes a record for a benchmark's sweep; the caller sets `saved` and the label.
BaselineRecord make_baseline_record(const RunSet& runs);

struct SavedSweep {
  BaselineRecord record;
  RunSet runs;
};

/// Loads every sweep of a benchmark in `folder` and below, saved as a baseline or not, ordered by the start of its
/// first run. One without a baseline.json is labelled by its folder. `notes` gets a line for each duplicate of a sweep,
/// which is left out. Throws Error{failed} where there is no sweep.
std::vector<SavedSweep> load_saved_sweeps(const std::filesystem::path& folder, std::vector<std::string>& notes);

}  // namespace ptrain
