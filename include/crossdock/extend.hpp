/// @file
/// @brief For libraries that extend crossdock: what they need and programs do not.
///
/// Adapters to other libraries' names and bindings of other languages use it, with the other public headers. The rest
/// of what an extension builds on is in communicator.hpp:
///
/// | to | use |
/// |---|---|
/// | keep something with a communicator | `communicator::resource<T>()`, a `communicator_resource` |
/// | fail on all ranks or on none | `on_all_or_none`, `agree` |
/// | send messages of one's own | `communicator::reserve_tags` and `communicator::get` |
/// | wait | `communicator::wait`, `communicator::progress`; `suspension` to wait on a stack of one's own |
/// | tell MPI of an error | `error_code_of`; `reporter_of` as functions of crossdock.h do |
/// | take options of crossdock.h | `known_options` |
/// | take handles of crossdock.h | `behind` |
/// | combine values of types that a program names when it runs | `for_each_operation`, `bytes_update`, `bytes_write` |
/// | go on with something while others wait | `background_work`, `communicator::add_work` |
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

#include "crossdock/communicator.hpp"
#include "crossdock/context.hpp"
#include "crossdock/crossdock.h"
#include "crossdock/detail/array/bytes_operation_mpi.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/base/suspension.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A context that several objects share; the last of them closes it.
struct shared_context {
    explicit shared_context(MPI_Comm comm) : where(comm) {}
    ~shared_context() {
        try {
            where.close();
        } catch (const error&) {
            // MPI does not work any more.
        }
    }
    shared_context(const shared_context&) = delete;
    shared_context& operator=(const shared_context&) = delete;

    context where;
};

/// @brief The context that extensions share on a communicator of the program's, or a new one. For interfaces whose
/// functions take an MPI communicator each time, and have no call that ends it.
/// @par Collective
/// Yes; blocks where it is a new one. All ranks let the last one go together.
/// @throws as the constructor of `context`
std::shared_ptr<shared_context> context_of(MPI_Comm comm);

/// @brief A handle of C for a context, to be freed with `crossdock_context_free`. After an error functions of C call
/// the handler of the context's own communicator, which is MPI_ERRORS_RETURN.
[[nodiscard]] crossdock_context* new_handle_of(const context& where);

struct pattern;
struct neighbor_options;
struct gather_options;

/// @brief What a handle or options of C stand for; options that are null are the defaults.
/// @throws error(errc::invalid_argument)  a handle is null; options are as `checked_size` refuses them
const context& behind(const crossdock_context* handle);
const pattern& behind(const crossdock_pattern* handle);
neighbor_options behind(const crossdock_neighbor_options* options);
gather_options behind(const crossdock_gather_options* options);

/// @brief The status of the exception in flight; `crossdock_last_error` then has its sentence. Calls no error handler.
crossdock_status remember_error() noexcept;

/// @brief What a function of C calls where it catches: as `remember_error`, and calls the error handler of the
/// communicator that the context was made of; of MPI_COMM_SELF without a context. May outlive the handle.
std::function<crossdock_status()> reporter_of(const crossdock_context* handle);

/// @brief What `crossdock_fail_next` announced; nothing is announced then. For the beginning of a call.
std::optional<error> take_announced() noexcept;

/// @brief Throws where options of crossdock.h do not begin with a size, or have fields that say something and are not
/// known.
/// @param num_known  bytes that the caller knows
/// @return how many bytes are to be read
/// @throws error(errc::invalid_argument)
std::size_t checked_size(const void* options, std::size_t num_known);

/// @brief Options of a program, with the defaults where the program knows fewer, or gives none.
/// @throws as `checked_size`
template <class Options>
Options known_options(const Options* given, Options defaults) {
    static_assert(std::is_trivially_copyable_v<Options>);
    if (given != nullptr) std::memcpy(&defaults, given, checked_size(given, sizeof(Options)));
    return defaults;
}

}  // namespace crossdock
