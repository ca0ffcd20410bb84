#include "tools/inputs/matrix.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "support.hpp"
#include "support/project_file.hpp"

namespace crossdock::matrix_test {
namespace {

using test::gzip;
using test::read_data;
using test::read_text;
using test::temporary_file;
using test::thrown_by;
using counts = std::vector<count_t>;
using numbers = std::vector<double>;

std::string file_text(const std::string& kind, const std::string& body) {
    return "%%MatrixMarket matrix coordinate " + kind + "\n% a comment\n" + body;
}

std::string invariant_broken_by(const sparse_matrix& m) {
    const auto num_entries = static_cast<std::size_t>(m.num_entries());
    if (m.row_offsets.size() != static_cast<std::size_t>(m.num_rows) + 1) return "offsets";
    if (m.columns.size() != num_entries || m.values.size() != num_entries) return "lengths";
    const bool is_complex = m.field == matrix_field::complex;
    if (m.imaginary.size() != (is_complex ? num_entries : 0)) return "imaginary parts";
    for (count_t row = 0; row < m.num_rows; ++row) {
        const auto columns = m.row(row);
        if (std::adjacent_find(columns.begin(), columns.end(), std::greater_equal{}) !=
            columns.end()) {
            return "order";
        }
        if (!columns.empty() && (columns.front() < 0 || columns.back() >= m.num_columns)) {
            return "range";
        }
    }
    return "";
}

struct data_file {
    const char* name;
    count_t num_rows;
    count_t num_columns;
    count_t num_entries;
    matrix_field field;
};

class DataFile : public testing::TestWithParam<data_file> {};

TEST_P(DataFile, HasTheSizeOfTheFullMatrix) {
    const sparse_matrix m = read_data(GetParam().name);

    EXPECT_EQ(m.num_rows, GetParam().num_rows);
    EXPECT_EQ(m.num_columns, GetParam().num_columns);
    EXPECT_EQ(m.num_entries(), GetParam().num_entries);
    EXPECT_EQ(m.field, GetParam().field);
    EXPECT_EQ(invariant_broken_by(m), "");
}

INSTANTIATE_TEST_SUITE_P(
    MatrixMarket, DataFile,
    testing::Values(data_file{"msc01050", 1050, 1050, 29156, matrix_field::real},
                    data_file{"radfr1", 1048, 1048, 13299, matrix_field::real},
                    data_file{"lp_woodw", 1098, 8418, 37487, matrix_field::real},
                    data_file{"bibd_49_3", 1176, 18424, 55272, matrix_field::pattern},
                    data_file{"D_10", 460, 816, 7614, matrix_field::integer},
                    data_file{"tumorAntiAngiogenesis_4", 455, 455, 4593, matrix_field::real},
                    data_file{"bcspwr10", 5300, 5300, 21842, matrix_field::pattern}),
    [](const auto& instance) { return std::string(instance.param.name); });

struct small_file {
    const char* name;
    const char* kind;
    const char* body;
    sparse_matrix expected;
};

class SmallFile : public testing::TestWithParam<small_file> {};

TEST_P(SmallFile, IsReadAsTheFullMatrix) {
    const std::string text = file_text(GetParam().kind, GetParam().body);

    EXPECT_EQ(read_text(text), GetParam().expected);
    EXPECT_EQ(read_text(gzip(text)), GetParam().expected);
}

const counts full_offsets{0, 2, 3};
const counts full_columns{0, 1, 0};

INSTANTIATE_TEST_SUITE_P(
    MatrixMarket, SmallFile,
    testing::Values(
        small_file{"real_general",
                   "real general",
                   "2 3 3\n2 1 -4e-1\n1 3 2.5\n1 1 1\n",
                   {2, 3, {0, 2, 3}, {0, 2, 0}, {1, 2.5, -0.4}, {}, matrix_field::real}},
        small_file{"real_symmetric",
                   "real symmetric",
                   "2 2 2\n1 1 3\n2 1 0.5\n",
                   {2, 2, full_offsets, full_columns, {3, 0.5, 0.5}, {}, matrix_field::real}},
        small_file{"real_skew",
                   "real skew-symmetric",
                   "2 2 1\n2 1 0.5\n",
                   {2, 2, {0, 1, 2}, {1, 0}, {-0.5, 0.5}, {}, matrix_field::real}},
        small_file{"integer_general",
                   "integer general",
                   "1 2 2\n1 2 -7\n1 1 9\n",
                   {1, 2, {0, 2}, {0, 1}, {9, -7}, {}, matrix_field::integer}},
        small_file{"complex_general",
                   "complex general",
                   "1 2 2\n1 1 1 2\n1 2 3 -4\n",
                   {1, 2, {0, 2}, {0, 1}, {1, 3}, {2, -4}, matrix_field::complex}},
        small_file{"complex_skew",
                   "complex skew-symmetric",
                   "2 2 1\n2 1 3 4\n",
                   {2, 2, {0, 1, 2}, {1, 0}, {-3, 3}, {-4, 4}, matrix_field::complex}},
        small_file{
            "complex_hermitian",
            "complex hermitian",
            "2 2 2\n1 1 1 0\n2 1 3 4\n",
            {2, 2, full_offsets, full_columns, {1, 3, 3}, {0, -4, 4}, matrix_field::complex}},
        small_file{"pattern_general",
                   "pattern general",
                   "2 3 2\n2 3\n1 2\n",
                   {2, 3, {0, 1, 2}, {1, 2}, {1, 1}, {}, matrix_field::pattern}},
        small_file{"upper_triangle",
                   "pattern symmetric",
                   "2 2 2\n1 1\n1 2\n",
                   {2, 2, full_offsets, full_columns, {1, 1, 1}, {}, matrix_field::pattern}},
        small_file{"empty_rows",
                   "real general",
                   "4 2 1\n3 1 6\n",
                   {4, 2, {0, 0, 0, 1, 1}, {0}, {6}, {}, matrix_field::real}},
        small_file{"no_entries",
                   "real general",
                   "2 3 0\n",
                   {2, 3, {0, 0, 0}, {}, {}, {}, matrix_field::real}},
        small_file{
            "no_rows", "real general", "0 0 0\n", {0, 0, {0}, {}, {}, {}, matrix_field::real}},
        small_file{"no_final_newline",
                   "real general",
                   "1 1 1\n1 1 8",
                   {1, 1, {0, 1}, {0}, {8}, {}, matrix_field::real}},
        small_file{"blank_lines_and_spaces",
                   "Real General",
                   "\n 1  1\t1 \r\n\n 1\t1  8 \r\n \n",
                   {1, 1, {0, 1}, {0}, {8}, {}, matrix_field::real}}),
    [](const auto& instance) { return std::string(instance.param.name); });

const std::string valid_text = file_text("real general", "2 2 2\n1 1 1\n2 2 2\n");

TEST(ReadMatrixMarket, RefusesBrokenFiles) {
    const auto expect_refused = [](const std::string& content) {
        const temporary_file file(content);
        const error fault = thrown_by([&] { read_matrix_market(file.path()); });
        EXPECT_EQ(fault.code(), errc::parse_error) << content;
        EXPECT_TRUE(std::string(fault.what()).starts_with(file.path() + ": ")) << content;
    };
    const auto expect_kind_refused = [&](const std::string& kind,
                                         const std::vector<std::string>& bodies) {
        for (const auto& body : bodies) expect_refused(file_text(kind, body));
    };
    const std::string banner = "%%MatrixMarket ";

    for (const std::string& text :
         {std::string(), std::string("hello\n"), banner + "matrix coordinate real general\n",
          banner + "matrix Array real general\n1 1\n5\n",
          banner + "vector coordinate real general\n2 1\n1 5\n", valid_text + "the end\n",
          valid_text + std::string(1, '\0'), gzip(valid_text).substr(0, 50),
          gzip(valid_text).substr(0, 2), gzip(valid_text) + "the end"})
        expect_refused(text);
    expect_kind_refused("quaternion general", {"1 1 0\n"});
    expect_kind_refused("real hermitian", {"1 1 0\n"});
    expect_kind_refused("pattern skew-symmetric", {"1 1 0\n"});
    expect_kind_refused("real symmetric", {"2 3 0\n"});
    expect_kind_refused("real skew-symmetric", {"2 2 1\n2 2 5\n"});
    expect_kind_refused("complex hermitian", {"2 2 1\n2 2 5 1\n"});
    expect_kind_refused("complex general", {"1 1 1\n1 1 5\n"});
    expect_kind_refused("integer general", {"1 1 1\n1 1 5.5\n"});
    expect_kind_refused("pattern symmetric", {"2 2 2\n2 1\n1 2\n"});
    expect_kind_refused("pattern general",
                        {"2 2 1\n3 1\n", "2 2 1\n2 0\n", "2 2 3\n1 1\n2 2\n", "2 2 1\n1 1\n2 2\n",
                         "2 2 2\n2 1\n2 1\n", "1 1 1\n1 1 5\n"});
    expect_kind_refused("real general",
                        {"1 1 1\n1 1 5 6\n", "1 1 1\n1 1 5x\n", "1 1 1\n1 1\n", "1 1 1\n1 1\n5\n",
                         "1 1 1\n1\n", "9 9 4000000000000\n1 1 1\n"});
    expect_kind_refused("real general",
                        {"4000000000000 9 1\n1 1 1\n", "99999999999999999999 9 1\n1 1 1\n"});
}

TEST(ReadMatrixMarket, RefusesWhatIsNoFile) {
    for (const std::string& path : {std::string("/nowhere/a.mtx"), test::project_file("data")})
        EXPECT_EQ(thrown_by([&] { read_matrix_market(path); }).code(), errc::file_error) << path;
}

TEST(ReadMatrixMarket, JoinsTheMembersOfAGzipFile) {
    const std::string head = valid_text.substr(0, 70);
    const std::string tail = valid_text.substr(70);

    EXPECT_EQ(read_text(gzip(head) + gzip(tail)), read_text(valid_text));
}

TEST(ReadMatrixMarket, ReadsTextOfMoreThanOnePiece) {
    constexpr count_t num_rows = 300'000;
    std::string body = fmt::format("{0} {0} {0}\n", num_rows);
    for (count_t row = num_rows; row > 0; --row) body += fmt::format("{0} {0} {0}\n", row);

    const sparse_matrix m = read_text(gzip(file_text("integer general", body)));

    ASSERT_EQ(m.num_entries(), num_rows);
    EXPECT_EQ(invariant_broken_by(m), "");
    EXPECT_EQ(m.values.front(), 1.0);
    EXPECT_EQ(m.values.back(), 300000.0);
}

/// Truncates, changes or lengthens `content` at one to three places.
std::string damage(std::string content, std::mt19937_64& generator) {
    constexpr std::string_view frequent = "0123456789 \n-+.e%";
    const auto draw = [&](std::size_t limit) { return generator() % limit; };
    for (std::size_t i = 0, num_places = 1 + draw(3); i < num_places && !content.empty(); ++i) {
        const std::size_t position = draw(content.size());
        const char byte =
            draw(2) == 0 ? frequent[draw(frequent.size())] : static_cast<char>(draw(256));
        switch (draw(5)) {
            case 0: content.resize(position); break;
            case 1: content.erase(position, 1 + draw(4)); break;
            case 2: content.insert(position, 1, byte); break;
            default: content[position] = byte; break;
        }
    }
    return content;
}

TEST(ReadMatrixMarket, DamagedFilesGiveAMatrixOrAnError) {
    const std::vector<std::string> texts{
        valid_text, file_text("complex hermitian", "3 3 3\n1 1 1 0\n2 1 3 4\n3 2 -1.5e3 7\n"),
        file_text("pattern symmetric", "4 4 3\n1 1\n2 1\n4 3\n"),
        file_text("integer skew-symmetric", "3 3 2\n2 1 4\n3 1 -5\n")};
    std::mt19937_64 generator(20240607);
    int num_matrices = 0;
    int num_errors = 0;

    for (int i = 0; i < 6000; ++i) {
        const std::string& text = texts[generator() % texts.size()];
        const std::string content = damage(i % 3 == 0 ? gzip(text) : text, generator);
        try {
            ASSERT_EQ(invariant_broken_by(read_text(content)), "") << content;
            ++num_matrices;
        } catch (const error& fault) {
            ASSERT_EQ(fault.code(), errc::parse_error) << fault.what();
            ++num_errors;
        }
    }

    EXPECT_EQ(num_matrices + num_errors, 6000);
    EXPECT_GT(num_matrices, 100);
    EXPECT_GT(num_errors, 100);
}

TEST(Multiply, GivesTheProductOfEitherPart) {
    const sparse_matrix m =
        read_text(file_text("complex general", "3 2 3\n1 1 2 5\n3 2 3 6\n3 1 4 7\n"));
    const numbers x{10, 100};

    EXPECT_EQ(multiply(m, x), (numbers{20, 0, 340}));
    EXPECT_EQ(multiply(m, x, complex_part::imaginary), (numbers{50, 0, 670}));
}

TEST(Multiply, OfARealMatrixHasNoImaginaryPartAndTakesAValueForEachColumn) {
    const sparse_matrix m = read_text(valid_text);

    EXPECT_EQ(multiply(m, numbers{1, 1}, complex_part::imaginary), (numbers{0, 0}));
    EXPECT_EQ(thrown_by([&] { multiply(m, numbers{1, 2, 3}); }).code(), errc::size_mismatch);
}

}  // namespace
}  // namespace crossdock::matrix_test
