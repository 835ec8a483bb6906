// What a trained model is asked: images, texts or rows of tables that users name, as a data set that a loader reads.
#pragma once

#include "core/data/dataset.h"
#include "core/runtime/model_artifact.h"

#include <memory>
#include <mutex>

namespace ptrain {

/// Where there is no label to hold an answer to.
inline constexpr std::int32_t no_label = -1;

/// Samples whose label or value may not be known: then it is no_label, or NaN.
class InferenceDataset : public Dataset {
 public:
  /// A path, or the text itself.
  virtual const std::string& name(std::int64_t index) const = 0;
  /// Inputs that could not be read so far, a line each, by index.
  std::map<std::int64_t, std::string> unread() const;

 protected:
  /// Keeps the message for unread().
  [[noreturn]] void reject(std::int64_t index, const std::string& message) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::string> unread_;
};

struct InferenceDataOptions {
  // Of tables: names in the header of the sentences and of their labels; empty: found by the usual names.
  std::string column = {}, label_column = {};
};

/// `arguments` as the command line gives them. Of images: files; folders, whose images are found at any depth and have
/// the folder they lie in as their label if it bears a class's name; what data.path takes of idx and CIFAR, whose
/// evaluation samples are asked, FOLDER[0] and on; "-" for a path per line of standard input. Of clips:
/// folders of frames, and folders that have such at any depth, whose label is the folder around them if it bears a
/// class's name; "-" likewise. Of texts: .tsv, .csv, .jsonl and .json tables, whose labels are the label; .txt files of
/// a sentence per line; "-" for the same of standard input; anything else is a sentence itself. A tab in a sentence
/// parts it into two. Of tables: files of Criteo's lines, whose labels, where they have them, are the label; "-" for
/// lines of standard input. Throws Error{failed} naming what is not there, is no text, has a label that is no class or
/// other fields than expected; also when all together hold no input. Throws Error{usage} of running text, which is gone
/// on with (generation.h).
std::unique_ptr<InferenceDataset> open_inputs(const ModelArtifact& model, const std::vector<std::string>& arguments,
                                              const InferenceDataOptions& options);

}  // namespace ptrain
