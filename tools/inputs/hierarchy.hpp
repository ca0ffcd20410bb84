/// @file
/// @brief Multigrid hierarchies, every level of which has an exchange of its own.
#pragma once

#include <string>
#include <vector>

#include "tools/inputs/workload.hpp"

namespace crossdock {

/// @brief The items of one rank that another one needs.
struct level_message {
    rank_t receiver = 0;
    rank_t source = 0;
    std::vector<count_t> indices;  ///< from 0 on at the source

    friend bool operator==(const level_message&, const level_message&) = default;
};

/// @brief One level as it was recorded, on as many ranks as it was computed with.
///
///     starts 0 2 3 3     ranks 0 and 1 own rows 0 1 and 2, rank 2 none
///     messages           "0 1 1 0": rank 0 needs row 2, which is index 0 of rank 1
struct hierarchy_level {
    std::vector<count_t> starts;
    std::vector<level_message> messages;

    friend bool operator==(const hierarchy_level&, const hierarchy_level&) = default;
};

/// @brief Reads all files of a folder that end in .txt or .txt.gz, in the order of their names.
///
/// "level L rows N ranks V starts s0 … sV" opens a level, in a later file also "level L" alone; each
/// further line is a message, "receiver source n index_1 … index_n".
/// @throws error(errc::file_error)   there is no such folder, or a file cannot be read
/// @throws error(errc::parse_error)  a line is none of these, or names a rank, a row or a level that
/// does not exist; or there is no level
std::vector<hierarchy_level> read_hierarchy(const std::string& folder);

/// @brief The level on fewer ranks: consecutive ones become one, and what is local then is no
/// message. What several of them need of one row is needed once.
/// @return row p holds the columns that rank p needs, its own ones among them; values are 1
workload fold(const hierarchy_level& level, rank_t num_ranks);

/// @brief Whether FILE is `amg:FOLDER` or `amg:FOLDER:LEVEL`.
bool is_hierarchy(const std::string& file);

/// @brief The levels of `amg:FOLDER`, finest first, folded, or one of them by its number; for every
/// other FILE only what it is.
/// @throws as `load_workload` and `read_hierarchy`
/// @throws error(errc::invalid_argument)  a hierarchy gets a partition, or has no such level
/// @throws error(errc::size_mismatch)     there are more ranks than the hierarchy was recorded on
std::vector<workload> load_levels(const std::string& file, const std::string& partition_spec,
                                  const topology& regions);

}  // namespace crossdock
