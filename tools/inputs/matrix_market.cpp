#include "matrix.hpp"

#include <fmt/format.h>
#include <zlib.h>

// std::from_chars, unlike the parser's fallbacks, stops at line ends and ignores the locale.
#define FMM_FROM_CHARS_INT_SUPPORTED 1
#define FMM_FROM_CHARS_DOUBLE_SUPPORTED 1
#include <fast_matrix_market/fast_matrix_market.hpp>

#include <algorithm>
#include <cctype>
#include <complex>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <string_view>

namespace crossdock {

namespace fmm = fast_matrix_market;

namespace {

/// What is wrong with a file, before its path is known.
using malformed = fmm::invalid_mm;

struct entry {
    count_t row;
    count_t column;
    std::complex<double> value;
};

// From a file to text -----------------------------------------------------------------------------

std::string read_file(const std::string& path) {
    std::error_code fault;
    const auto num_bytes = std::filesystem::file_size(path, fault);
    std::ifstream file(path, std::ios::binary);
    if (fault || !file) throw error(errc::file_error, fmt::format("cannot open {}", path));
    std::string content(num_bytes, '\0');
    file.read(content.data(), static_cast<std::streamsize>(num_bytes));
    if (!file) throw error(errc::file_error, fmt::format("cannot read {}", path));
    return content;
}

bool is_gzip(std::string_view content) { return content.starts_with("\x1f\x8b"); }

/// Undoes gzip; a file may hold several compressed members, one behind the other.
std::string decompress(std::string_view content) {
    constexpr int gzip_window_bits = 15 + 16;
    constexpr std::size_t piece_bytes = std::size_t{1} << 20;
    z_stream stream{};
    if (inflateInit2(&stream, gzip_window_bits) != Z_OK) throw std::bad_alloc();
    const std::unique_ptr<z_stream, decltype(&inflateEnd)> guard(&stream, &inflateEnd);
    const auto* input = reinterpret_cast<const Bytef*>(content.data());
    const auto* const input_end = input + content.size();
    std::string text;
    std::string piece(piece_bytes, '\0');
    int status = Z_OK;
    while (status != Z_STREAM_END || input != input_end) {
        if (status == Z_STREAM_END) inflateReset(&stream);
        stream.next_in = const_cast<Bytef*>(input);
        stream.avail_in =
            static_cast<uInt>(std::min(static_cast<std::size_t>(input_end - input), piece_bytes));
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        status = inflate(&stream, Z_NO_FLUSH);
        if (status == Z_MEM_ERROR) throw std::bad_alloc();
        if (status == Z_BUF_ERROR) throw malformed("the gzip data is truncated");
        if (status != Z_OK && status != Z_STREAM_END) {
            throw malformed(
                fmt::format("the gzip data is damaged: {}", stream.msg ? stream.msg : "no detail"));
        }
        input = stream.next_in;
        text.append(piece, 0, piece.size() - stream.avail_out);
    }
    return text;
}

/// The parser looks for a newline behind every entry and stops at a null byte.
void prepare_for_parser(std::string& text) {
    if (const auto null = text.find('\0'); null != std::string::npos) {
        throw malformed(
            fmt::format("this is no Matrix Market file, which is text: its byte {} is 0", null));
    }
    if (!text.ends_with('\n')) text += '\n';
}

// From text to entries ----------------------------------------------------------------------------

/// What stands behind the two indices of an entry.
struct value_text {
    const char* begin = nullptr;
    const char* end = nullptr;
};

const char* read_value(const char* begin, const char* end, value_text& text,
                       const fmm::read_options&) {
    text = {begin, std::find(begin, end, '\n')};
    return text.end;
}

// The parser is compiled with its own expansion of symmetric files, but told not to use it.
value_text negate(const value_text& text) { return text; }

template <class Number>
const char* read_number(const value_text& text, Number& number) {
    return fmm::read_value(text.begin, text.end, number, fmm::read_options{});
}

/// Collects entries; reads their values itself, so that nothing may follow them on the line.
class entry_handler {
  public:
    using coordinate_type = count_t;
    using value_type = value_text;
    static constexpr int flags = fmm::kAppending;

    entry_handler(matrix_field field, std::vector<entry>& entries)
        : field_(field), entries_(&entries) {}

    void handle(count_t row, count_t column, const value_text& text) {
        std::complex<double> value = 1.0;
        const char* rest = text.begin;
        if (field_ == matrix_field::complex) {
            rest = read_number(text, value);
        } else if (field_ == matrix_field::real) {
            double number = 0;
            rest = read_number(text, number);
            value = number;
        } else if (field_ == matrix_field::integer) {
            count_t number = 0;
            rest = read_number(text, number);
            value = static_cast<double>(number);
        }
        if (fmm::skip_spaces(rest) != text.end) {
            throw malformed(fmt::format("'{}' follows the entry", std::string(rest, text.end)));
        }
        entries_->push_back({row, column, value});
    }

    entry_handler get_chunk_handler(std::int64_t) const { return *this; }

  private:
    matrix_field field_;
    std::vector<entry>* entries_;
};

matrix_field field_of(const fmm::matrix_market_header& header) {
    switch (header.field) {
        case fmm::complex: return matrix_field::complex;
        case fmm::pattern: return matrix_field::pattern;
        case fmm::integer:
        case fmm::unsigned_integer: return matrix_field::integer;
        default: return matrix_field::real;
    }
}

/// Refuses dense files by their first line: the parser multiplies their dimensions unchecked.
void refuse_dense(const std::string& text) {
    std::string banner = text.substr(0, text.find('\n'));
    std::transform(banner.begin(), banner.end(), banner.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (banner.find("array") != std::string::npos) {
        throw malformed("dense (array) files are not supported, only coordinate ones", 1);
    }
}

void check_symmetry(const fmm::matrix_market_header& header) {
    if (header.symmetry == fmm::general) return;
    if (header.nrows != header.ncols) {
        throw malformed(fmt::format("a {} matrix cannot have {} rows and {} columns",
                                    fmm::symmetry_map.at(header.symmetry), header.nrows,
                                    header.ncols));
    }
    const bool is_hermitian = header.symmetry == fmm::hermitian;
    const bool is_skew = header.symmetry == fmm::skew_symmetric;
    if ((is_hermitian && header.field != fmm::complex) ||
        (is_skew && header.field == fmm::pattern)) {
        throw malformed(fmt::format("a {} matrix cannot be {}", fmm::field_map.at(header.field),
                                    fmm::symmetry_map.at(header.symmetry)));
    }
}

/// A damaged header must not make us allocate much more than the file holds.
void check_sizes(const fmm::matrix_market_header& header, std::size_t text_bytes) {
    constexpr std::size_t shortest_entry_bytes = std::string_view("1 1\n").size();
    const auto max_entries = static_cast<count_t>(text_bytes / shortest_entry_bytes);
    const count_t max_dimension = (count_t{1} << 20) + 64 * static_cast<count_t>(text_bytes);
    if (header.nnz > max_entries) {
        throw malformed(fmt::format("{} entries are announced, but the text has only {} bytes",
                                    header.nnz, text_bytes));
    }
    if (std::max(header.nrows, header.ncols) > max_dimension) {
        throw malformed(
            fmt::format("{} rows and {} columns are announced, but the text has only "
                        "{} bytes",
                        header.nrows, header.ncols, text_bytes));
    }
}

fmm::matrix_market_header read_header(std::istream& stream, std::size_t text_bytes) {
    fmm::matrix_market_header header;
    fmm::read_header(stream, header);
    if (header.object != fmm::matrix) throw malformed("the file holds a vector, not a matrix", 1);
    check_symmetry(header);
    check_sizes(header, text_bytes);
    return header;
}

std::vector<entry> read_entries(std::istream& stream, fmm::matrix_market_header header) {
    fmm::read_options options;
    options.generalize_symmetry = false;
    options.parallel_ok = false;
    std::vector<entry> entries;
    entries.reserve(static_cast<std::size_t>(header.nnz));
    entry_handler handler(field_of(header), entries);
    // With this field the parser hands over the rest of the line, whatever it is.
    header.field = fmm::real;
    fmm::read_matrix_market_body<entry_handler, fmm::compile_coordinate_only>(
        stream, header, handler, value_text{}, options);
    return entries;
}

// From entries to a matrix ------------------------------------------------------------------------

entry mirrored(const entry& e, fmm::symmetry_type symmetry) {
    switch (symmetry) {
        case fmm::skew_symmetric: return {e.column, e.row, -e.value};
        case fmm::hermitian: return {e.column, e.row, std::conj(e.value)};
        default: return {e.column, e.row, e.value};
    }
}

void add_other_triangle(std::vector<entry>& entries, fmm::symmetry_type symmetry) {
    const std::size_t num_stored = entries.size();
    entries.reserve(2 * num_stored);
    for (std::size_t i = 0; i < num_stored; ++i) {
        const entry e = entries[i];
        const entry other = mirrored(e, symmetry);
        if (e.row != e.column) {
            entries.push_back(other);
        } else if (symmetry != fmm::symmetric && other.value != e.value) {
            throw malformed(fmt::format("entry ({}, {}) cannot be on the diagonal of a {} matrix",
                                        e.row + 1, e.column + 1, fmm::symmetry_map.at(symmetry)));
        }
    }
}

void sort_by_row(std::vector<entry>& entries) {
    std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) {
        return a.row != b.row ? a.row < b.row : a.column < b.column;
    });
    const auto twin = std::adjacent_find(
        entries.begin(), entries.end(),
        [](const entry& a, const entry& b) { return a.row == b.row && a.column == b.column; });
    if (twin != entries.end()) {
        throw malformed(
            fmt::format("entry ({}, {}) is given twice", twin->row + 1, twin->column + 1));
    }
}

sparse_matrix compress(const fmm::matrix_market_header& header, const std::vector<entry>& entries) {
    sparse_matrix matrix;
    matrix.num_rows = header.nrows;
    matrix.num_columns = header.ncols;
    matrix.field = field_of(header);
    matrix.row_offsets.assign(static_cast<std::size_t>(header.nrows) + 1, 0);
    matrix.columns.reserve(entries.size());
    matrix.values.reserve(entries.size());
    for (const entry& e : entries) {
        ++matrix.row_offsets[static_cast<std::size_t>(e.row) + 1];
        matrix.columns.push_back(e.column);
        matrix.values.push_back(e.value.real());
        if (matrix.field == matrix_field::complex) matrix.imaginary.push_back(e.value.imag());
    }
    for (std::size_t row = 1; row < matrix.row_offsets.size(); ++row) {
        matrix.row_offsets[row] += matrix.row_offsets[row - 1];
    }
    return matrix;
}

sparse_matrix parse(std::string text) {
    prepare_for_parser(text);
    refuse_dense(text);
    const std::size_t text_bytes = text.size();
    std::istringstream stream(std::move(text));
    const fmm::matrix_market_header header = read_header(stream, text_bytes);
    std::vector<entry> entries = read_entries(stream, header);
    if (header.symmetry != fmm::general) add_other_triangle(entries, header.symmetry);
    sort_by_row(entries);
    return compress(header, entries);
}

}  // namespace

sparse_matrix read_matrix_market(const std::string& path) {
    try {
        std::string content = read_file(path);
        return parse(is_gzip(content) ? decompress(content) : std::move(content));
    } catch (const fmm::fmm_error& fault) {
        throw error(errc::parse_error, fmt::format("{}: {}", path, fault.what()));
    } catch (const std::bad_alloc&) {
        throw error(errc::out_of_memory, fmt::format("{} does not fit into memory", path));
    }
}

}  // namespace crossdock
