#include "own_request.hpp"

#include <vector>

namespace crossdock::drop_in {

namespace {

std::vector<int>& free_tags() {
    static auto& tags = *new std::vector<int>;
    return tags;
}

int take_tag() {
    static int next_tag = 0;
    auto& tags = free_tags();
    if (tags.empty()) {
        // All of them come back without need of memory.
        const auto num_tags = static_cast<std::size_t>(next_tag) + 1;
        if (tags.capacity() < num_tags) tags.reserve(2 * num_tags);
        tags.push_back(next_tag++);
    }
    const int taken = tags.back();
    tags.pop_back();
    return taken;
}

}  // namespace

own_request::own_request() : tag_(take_tag()) {}

own_request::~own_request() { free_tags().push_back(tag_); }

MPI_Comm own_request::messages() {
    static const MPI_Comm comm = [] {
        MPI_Comm made = MPI_COMM_NULL;
        CROSSDOCK_MPI(PMPI_Comm_dup(MPI_COMM_SELF, &made));
        CROSSDOCK_MPI(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
        return made;
    }();
    return comm;
}

void own_request::complete(bool has_failed) const {
    const char failure = 1;
    PMPI_Send(&failure, has_failed ? 1 : 0, MPI_BYTE, 0, tag_, messages());
}

}  // namespace crossdock::drop_in
