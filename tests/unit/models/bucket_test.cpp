// Which batches share a plan.
#include "core/model/bucket.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(Bucket, AnExtentThatIsNotSaidIsZero) {
  const Bucket bucket(8, {{extent_names::height, 96}, {extent_names::width, 64}, {"boxes", 100}});
  EXPECT_EQ(bucket.rows, 8);
  EXPECT_EQ(bucket.height(), 96);
  EXPECT_EQ(bucket.width(), 64);
  EXPECT_EQ(bucket.get("boxes"), 100);
  EXPECT_EQ(bucket.tokens(), 0);
}

TEST(Bucket, BatchesOfTheSameExtentsShareAPlan) {
  const Bucket sentences(8, {{extent_names::tokens, 96}});
  EXPECT_EQ(sentences, Bucket(8).set(extent_names::tokens, 96));
  EXPECT_NE(sentences, Bucket(4).set(extent_names::tokens, 96));
  EXPECT_NE(sentences, Bucket(8, {{extent_names::tokens, 96}, {extent_names::height, 1}}));
  EXPECT_EQ(Bucket(sentences).set(extent_names::tokens, 0), Bucket(8)) << "an extent of 0 is none";
  EXPECT_LT(Bucket(4, {{extent_names::tokens, 512}}), sentences) << "ordered by rows first";
}

}  // namespace
}  // namespace ptrain
