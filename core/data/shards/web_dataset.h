// WebDataset's shards: tar archives in which the members of a sample are consecutive and share its key, the path up to
// the first dot of the file's name (https://github.com/webdataset/webdataset).
#pragma once

#include "core/data/shards/shard_index.h"

namespace ptrain {

/// A sample's image is its .jpg, .jpeg, .jfif, .png, .webp or .bmp; its label is the text of .cls, or `label` in the
/// object of .json, or the text of .txt. Where it has none of those names, its only image.jpg and label.cls are taken,
/// whatever is before the last dot; and where it would have several, those of one name up to the last dot are a sample
/// each. Members with other extensions are ignored. Throws Error as read_tar does, and naming the key and the byte when
/// a sample has no image or no label, or several images.
ShardIndex index_web_dataset(const ByteSource& shard);

extern const ShardForm web_dataset_form;

}  // namespace ptrain
