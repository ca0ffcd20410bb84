/// @file
/// @brief Which MPI a program or a library is linked with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace crossdock::tool {

/// @brief A library of MPI, and whose binary interface it has.
struct linked_mpi {
    std::string library;     ///< such as libmpi.so.40; empty where there is none
    std::string mpi_family;  ///< Open MPI, MPICH, or the MPI-5 ABI
};

/// @brief What a file names, if it is an ELF file of this machine's kind that names a library of MPI itself.
linked_mpi mpi_of_file(const std::filesystem::path& file);

/// @brief The first word of a command that is a program linked with MPI, or an empty path.
std::filesystem::path find_mpi_program(const std::vector<std::string>& command);

}  // namespace crossdock::tool
