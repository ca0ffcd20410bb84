#include "crossdock/extend.hpp"
#include "handles.hpp"

namespace crossdock {

std::shared_ptr<shared_context> context_of(MPI_Comm comm) {
    using known_context = std::weak_ptr<shared_context>;
    static const int key = [] {
        int made = MPI_KEYVAL_INVALID;
        const auto forget = [](MPI_Comm, int, void* attribute, void*) -> int {
            delete static_cast<known_context*>(attribute);
            return MPI_SUCCESS;
        };
        CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr));
        return made;
    }();
    if (comm == MPI_COMM_NULL) throw error(errc::invalid_argument, "the communicator is null");
    void* attribute = nullptr;
    int is_set = 0;
    CROSSDOCK_MPI(MPI_Comm_get_attr(comm, key, &attribute, &is_set));
    auto* known = static_cast<known_context*>(attribute);
    if (is_set == 0) {
        auto made = with_reserve([] { return std::make_unique<known_context>(); });
        CROSSDOCK_MPI(MPI_Comm_set_attr(comm, key, made.get()));
        known = made.release();
    }
    auto found = known->lock();
    if (found && found->where.is_open()) return found;
    found = with_reserve([&] { return std::make_shared<shared_context>(comm); });
    *known = found;
    return found;
}

const context& behind(const crossdock_context* handle) { return c::value_of(handle, "context"); }
const pattern& behind(const crossdock_pattern* handle) { return c::value_of(handle, "pattern"); }
neighbor_options behind(const crossdock_neighbor_options* options) {
    return c::options_from(options);
}
gather_options behind(const crossdock_gather_options* options) { return c::options_from(options); }

}  // namespace crossdock
