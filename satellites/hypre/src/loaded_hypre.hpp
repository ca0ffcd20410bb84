/// @file
/// @brief The hypre that a program is linked with: its functions, the sizes of its numbers, and its packages.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "crossdock/types.hpp"

namespace crossdock::hypre_drop_in {

struct comm_package;  ///< hypre_ParCSRCommPkg
struct comm_handle;   ///< hypre_ParCSRCommHandle

/// @brief A HYPRE_Int, which has 4 or 8 bytes: registers and the stack have room for 8 in both cases.
using wide_int = std::int64_t;

using create_function = comm_handle*(wide_int job, comm_package*, int send_location, void* send,
                                     int receive_location, void* receive);
using destroy_function = wide_int(comm_handle*);

/// @brief hypre's jobs that bring values from and to the off-diagonal columns, of three types.
inline constexpr std::array<int, 6> all_jobs{1, 2, 11, 12, 21, 22};

/// @brief One side of a package, as it is now. Values of neighbor i are [starts[i], starts[i + 1]) of the buffer.
struct package_side {
    std::size_t num_neighbors = 0;
    const void* ranks = nullptr;
    const void* starts = nullptr;
    friend bool operator==(const package_side&, const package_side&) = default;
};

/// @brief A package, as it is now.
struct package_view {
    MPI_Comm comm = MPI_COMM_NULL;
    count_t num_components = 1;
    package_side sends;
    package_side receives;
    bool has_elements =
        false;  ///< says which entries of a vector are sent, so that it is for vectors
};

/// @brief What is found when the first package is made.
class loaded_hypre {
  public:
    static const loaded_hypre& of_process();

    /// @brief hypre's own function of a name that this library defines, too.
    /// @param caller  an address in what called this library's: hypre may be loaded for that alone
    template <class Function>
    static Function* own(const char* name, const void* caller) {
        return reinterpret_cast<Function*>(find(name, caller));
    }

    /// @brief Whether the layout of its packages is known.
    bool is_known() const noexcept { return int_bytes_ > 0; }
    /// @brief Whether buffers may be in the memory of a GPU.
    bool has_devices() const noexcept { return has_devices_; }

    /// @brief Bytes of a value that a job sends; 0 if unknown.
    std::size_t value_bytes(int job) const noexcept {
        return job < 10 ? complex_bytes_ : job < 20 ? int_bytes_ : big_int_bytes_;
    }

    /// @pre `is_known()`
    package_view view(const comm_package& package) const;
    /// @brief Entry i of an array of a package.
    count_t number(const void* array, std::size_t i) const {
        if (int_bytes_ == sizeof(std::int32_t)) return static_cast<const std::int32_t*>(array)[i];
        return static_cast<const std::int64_t*>(array)[i];
    }
    /// @brief Whether the arrays of a package are those that it was made of, so that its layout is the one assumed.
    bool has_arrays(const comm_package& package, const package_view& made_of) const;

    /// @brief A handle of hypre's for a package, with no messages under way.
    comm_handle* create_without_messages(create_function* create, wide_int job, comm_package&,
                                         int send_location, void* send, int receive_location,
                                         void* receive) const;

  private:
    loaded_hypre();
    static void* find(const char* name, const void* caller);

    std::size_t int_bytes_ = 0;
    std::size_t big_int_bytes_ = 0;
    std::size_t complex_bytes_ = 0;
    bool has_devices_ = false;
};

}  // namespace crossdock::hypre_drop_in
