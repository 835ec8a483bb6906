// Names of the files in a run's folder.
#pragma once

namespace ptrain::run_files {

inline constexpr const char* report = "report.json";
inline constexpr const char* start = "run_start.json";                      // what is known before the first step
inline constexpr const char* metrics = "metrics.jsonl";                     // a line per logged step and evaluation
inline constexpr const char* predictions = "predictions.jsonl";             // of the last evaluation, by sample
inline constexpr const char* trace = "trace.json";                          // a timeline of a few steps
inline constexpr const char* tensorboard = "events.out.tfevents.0.ptrain";  // the metrics, for other programs
inline constexpr const char* visualdl = "vdlrecords.0.log";
inline constexpr const char* best = "best";  // folder of the best model

}  // namespace ptrain::run_files
