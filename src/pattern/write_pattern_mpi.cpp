#include "crossdock/make_pattern.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "../base/collective_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../base/watchdog_mpi.hpp"

namespace crossdock {

namespace {

constexpr std::string_view suffix = ".mtx";

// What one rank sends to others.
struct rows_to_send {
    count_t num_rows = 1;
    std::vector<count_t> words;  // the destination and the row, one after the other
};

void check_file(const std::string& path, count_t item_bytes) {
    if (!path.ends_with(suffix))
        throw_error(errc::invalid_argument, "a pattern is written to a file {}, not to \"{}\"",
                    suffix, path);
    if (item_bytes < 1)
        throw_error(errc::invalid_argument, "item_bytes is {}; the minimum is 1", item_bytes);
}

void check_rank(const communicator& comm, const pattern& p) {
    if (p.rank != comm.rank() || p.num_ranks != comm.num_ranks())
        throw_error_of(comm.rank(), errc::size_mismatch,
                       "the pattern of rank {} of {} is given on rank {} of {}", p.rank,
                       p.num_ranks, comm.rank(), comm.num_ranks());
    validate(p);
}

rows_to_send items_of(const pattern& p) {
    std::vector<std::pair<rank_t, count_t>> sends;
    std::vector<count_t> rows;
    for (std::size_t entry = 0; entry < p.sends.size(); ++entry) {
        if (p.sends.ranks[entry] == p.rank) continue;
        for (const count_t item : p.sends[entry]) {
            sends.emplace_back(p.sends.ranks[entry], item);
            rows.push_back(item);
        }
    }
    const auto keep_different = [](auto& list) {
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    keep_different(sends);
    keep_different(rows);
    rows_to_send sent{std::max<count_t>(std::ssize(rows), 1), {}};
    for (const auto& [destination, item] : sends) {
        const auto row = std::ranges::lower_bound(rows, item) - rows.begin();
        sent.words.insert(sent.words.end(), {destination, row});
    }
    checked_cast<int>(std::ssize(sent.words));
    return sent;
}

// The number of rows and of words of each rank; on rank 0 there is room for them.
void gather_lengths(const communicator& comm, const rows_to_send& own, std::vector<count_t>& all) {
    const count_t lengths[] = {own.num_rows, std::ssize(own.words)};
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Igather(lengths, 2, MPI_INT64_T, all.data(), 2, MPI_INT64_T, 0, comm.get(),
                           request);
    });
}

// Whether there is no such file yet, or a regular one.
bool may_be_replaced(const std::string& path) {
    std::error_code ignored;
    const auto kind = std::filesystem::symlink_status(path, ignored).type();
    return kind == std::filesystem::file_type::not_found ||
           kind == std::filesystem::file_type::regular;
}

// A file that gets its name when it is complete; links and devices are written through.
class new_file {
  public:
    explicit new_file(std::string path)
        : path_(std::move(path)),
          partial_(may_be_replaced(path_) ? path_ + ".partial" : path_),
          stream_(partial_),
          has_name_(partial_ == path_) {
        if (!stream_.is_open()) fail();
    }
    ~new_file() {
        if (!has_name_) std::remove(partial_.c_str());
    }
    new_file(const new_file&) = delete;
    new_file& operator=(const new_file&) = delete;

    std::ostream& stream() { return stream_; }

    void close() {
        stream_.close();
        if (!stream_) fail();
    }

    void give_name() {
        if (!has_name_ && std::rename(partial_.c_str(), path_.c_str()) != 0) fail();
        has_name_ = true;
    }

  private:
    [[noreturn]] void fail() const { throw error(errc::file_error, "cannot write " + path_); }

    std::string path_;
    std::string partial_;
    std::ofstream stream_;
    bool has_name_;
};

// The two files, which rank 0 writes.
class pattern_files {
  public:
    explicit pattern_files(const std::string& path)
        : matrix_(path), owners_(path.substr(0, path.size() - suffix.size()) + ".owners") {}

    void write_head(const std::vector<count_t>& lengths, count_t item_bytes) {
        count_t num_rows = 0;
        count_t num_words = 0;
        for (std::size_t rank = 0; 2 * rank < lengths.size(); ++rank) {
            first_rows_.push_back(num_rows);
            num_rows += lengths[2 * rank];
            num_words += lengths[2 * rank + 1];
            for (count_t row = 0; row < lengths[2 * rank]; ++row) owners_.stream() << rank << '\n';
        }
        matrix_.stream() << "%%MatrixMarket matrix coordinate pattern general\n"
                         << "% items of " << item_bytes << " bytes\n"
                         << num_rows << ' ' << num_rows << ' ' << num_words / 2 << '\n';
    }

    void write_items(rank_t rank, const std::vector<count_t>& words) {
        for (std::size_t at = 0; at < words.size(); at += 2)
            matrix_.stream() << first_row(words[at]) + 1 << ' '
                             << first_row(rank) + words[at + 1] + 1 << '\n';
    }

    void finish() {
        matrix_.close();
        owners_.close();
        matrix_.give_name();
        owners_.give_name();
    }

  private:
    count_t first_row(count_t rank) const { return first_rows_[static_cast<std::size_t>(rank)]; }

    new_file matrix_;
    new_file owners_;
    std::vector<count_t> first_rows_;
};

}  // namespace

void write_pattern(const communicator& comm, const pattern& p, const std::string& path,
                   count_t item_bytes) {
    const collective_call now("writing a pattern", comm);
    std::vector<count_t> lengths;
    auto own = on_all_or_none(comm, [&] {
        if (comm.rank() == 0) {
            check_file(path, item_bytes);
            lengths.resize(2 * static_cast<std::size_t>(comm.num_ranks()));
        }
        check_rank(comm, p);
        return items_of(p);
    });
    gather_lengths(comm, own, lengths);
    std::optional<pattern_files> files;
    on_all_or_none(comm, [&] {
        if (comm.rank() != 0) return;
        files.emplace(path);
        files->write_head(lengths, item_bytes);
        for (std::size_t at = 1; at < lengths.size(); at += 2)
            own.words.reserve(static_cast<std::size_t>(lengths[at]));
    });
    const auto tags = comm.reserve_tags(1);
    const int tag = tags.first();
    if (comm.rank() == 0) {
        files->write_items(0, own.words);
        for (rank_t rank = 1; rank < comm.num_ranks(); ++rank) {
            own.words.resize(
                static_cast<std::size_t>(lengths[2 * static_cast<std::size_t>(rank) + 1]));
            run_collective(comm, [&](MPI_Request* request) {
                return MPI_Irecv(own.words.data(), static_cast<int>(own.words.size()), MPI_INT64_T,
                                 rank, tag, comm.get(), request);
            });
            files->write_items(rank, own.words);
        }
    } else {
        run_collective(comm, [&](MPI_Request* request) {
            return MPI_Isend(own.words.data(), static_cast<int>(own.words.size()), MPI_INT64_T, 0,
                             tag, comm.get(), request);
        });
    }
    on_all_or_none(comm, [&] {
        if (files) files->finish();
    });
}

}  // namespace crossdock
