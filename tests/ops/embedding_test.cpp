#include "core/ops/text/embedding.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace embedding_test {

/// Adds row ids[t] of `table` to row t of y.
void add_rows(const HostTensor& table, const std::vector<double>& ids, std::vector<double>& y) {
  const auto width = static_cast<std::size_t>(table.desc.shape[1]);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    for (std::size_t c = 0; c < width; ++c) {
      y[t * width + c] += table.values[static_cast<std::size_t>(ids[t]) * width + c];
    }
  }
}

TEST(Embedding, MatchesReferenceWithRepeatedIds) {
  OpCase c;
  c.op = std::make_shared<Embedding>();
  c.inputs = {tensor(DType::i32, Shape{2, 3}, {4, 0, 4, 4, 2, 0}), random_tensor(DType::f32, Shape{6, 19}, 1)};
  c.reference = [](const std::vector<HostTensor>& in) {
    std::vector<double> y(6 * 19);
    add_rows(in[1], in[0].values, y);
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {1};
  check_op(c);
}

TEST(Embedding, GivesZerosForNoRow) {
  OpCase c;
  c.op = std::make_shared<Embedding>();
  c.inputs = {tensor(DType::i32, Shape{4}, {2, -1, 0, -1}), random_tensor(DType::f32, Shape{3, 19}, 1)};
  c.reference = [](const std::vector<HostTensor>& in) {
    std::vector<double> y(4 * 19);
    for (std::size_t column = 0; column < 19; ++column) {
      y[column] = in[1].values[2 * 19 + column];
      y[2 * 19 + column] = in[1].values[column];
    }
    return std::vector<std::vector<double>>{y};
  };
  check_op(c);
}

/// Over 2 sequences of 4 tokens, whose positions begin at a row.
void check_bert_embedding(double first) {
  OpCase c;
  c.op = std::make_shared<BertEmbedding>(static_cast<std::int64_t>(first));
  c.inputs = {tensor(DType::i32, Shape{2, 4}, {4, 0, 4, 4, 2, 0, 5, 1}),
              tensor(DType::i32, Shape{2, 4}, {0, 0, 1, 1, 0, 1, 1, 0}), random_tensor(DType::f32, Shape{7, 33}, 1),
              random_tensor(DType::f32, Shape{6, 33}, 2), random_tensor(DType::f32, Shape{2, 33}, 3)};
  c.reference = [first](const std::vector<HostTensor>& in) {
    std::vector<double> y(8 * 33);
    add_rows(in[2], in[0].values, y);
    add_rows(in[3], {first, first + 1, first + 2, first + 3, first, first + 1, first + 2, first + 3}, y);
    add_rows(in[4], in[1].values, y);
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {2, 3, 4};
  check_op(c);
}

TEST(BertEmbedding, SumsTheThreeTables) { check_bert_embedding(0); }

TEST(BertEmbedding, BeginsPositionsAtARow) { check_bert_embedding(2); }

TEST(BertEmbedding, CountsPositionsInEachPackedSequence) {
  OpCase c;
  c.op = std::make_shared<BertEmbedding>();
  c.inputs = {tensor(DType::i32, Shape{9}, {4, 0, 4, 4, 2, 0, 5, 3, 3}),
              tensor(DType::i32, Shape{9}, {0, 0, 1, 1, 0, 1, 1, 1, 0}),
              random_tensor(DType::f32, Shape{7, 33}, 1),
              random_tensor(DType::f32, Shape{6, 33}, 2),
              random_tensor(DType::f32, Shape{2, 33}, 3),
              get_offsets({2, 1, 4})};  // and two tokens of no sequence
  c.reference = [](const std::vector<HostTensor>& in) {
    std::vector<double> y(9 * 33);
    const auto valid = [](std::vector<double> values) {
      values.resize(7);
      return values;
    };
    add_rows(in[2], valid(in[0].values), y);
    add_rows(in[3], {0, 1, 0, 0, 1, 2, 3}, y);
    add_rows(in[4], valid(in[1].values), y);
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {2, 3, 4};
  check_op(c);
}

TEST(BertEmbedding, ContinuesSequences) {
  OpCase c;
  c.op = std::make_shared<BertEmbedding>();
  c.inputs = {tensor(DType::i32, Shape{4}, {4, 0, 2, 3}), tensor(DType::i32, Shape{4}, {0, 0, 1, 0}),
              random_tensor(DType::f32, Shape{7, 33}, 1), random_tensor(DType::f32, Shape{6, 33}, 2),
              random_tensor(DType::f32, Shape{2, 33}, 3), get_offsets({2, 0, 1}),  // and a token of no sequence
              tensor(DType::i32, Shape{3}, {4, 3, 0})};
  c.reference = [](const std::vector<HostTensor>& in) {
    std::vector<double> y(4 * 33);
    add_rows(in[2], {4, 0, 2}, y);
    add_rows(in[3], {4, 5, 0}, y);
    add_rows(in[4], {0, 0, 1}, y);
    return std::vector<std::vector<double>>{y};
  };
  check_op(c);
}

TEST(BertEmbedding, RefusesSequencesLongerThanItsPositions) {
  const std::vector<TensorDesc> inputs{{DType::i32, Shape{1, 9}},
                                       {DType::i32, Shape{1, 9}},
                                       {DType::f32, Shape{10, 4}},
                                       {DType::f32, Shape{8, 4}},
                                       {DType::f32, Shape{2, 4}}};
  EXPECT_THROW(BertEmbedding().infer(inputs), std::invalid_argument);
}

}  // namespace embedding_test
}  // namespace ptrain::testing
