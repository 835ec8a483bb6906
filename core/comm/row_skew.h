// How many different rows of a table a batch reads, and how evenly they are spread over the ranks that have them.
#pragma once

namespace ptrain {

/// Averages over batches.
struct RowsRead {
  double different = 0;  // rows
  double busiest = 1;    // of the rank that is asked for most rows: how many times its share
};

/// `ids` of a batch are drawn from `rows`, of which the i-th most frequent one comes in proportion to i^-zipf (0: all
/// are as likely, which is the most different rows that any frequencies give). Each of `ranks` has a random part of the
/// rows, and is asked once by each rank's batch for a row that it reads. `busiest` is the mean plus sqrt(2 log ranks)
/// standard deviations, as the largest of so many normal deviates.
RowsRead count_rows_read(double ids, double rows, double zipf, int ranks);

}  // namespace ptrain
