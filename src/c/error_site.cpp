#include "error_site.hpp"

#include <mutex>

namespace crossdock::c {

// All contexts of a communicator share one, which is an attribute of it.
struct user_communicator {
    explicit user_communicator(MPI_Comm user) : comm(user) {}
    ~user_communicator() {
        int is_over = 0;
        MPI_Finalized(&is_over);
        if (last != MPI_ERRHANDLER_NULL && !is_over) MPI_Errhandler_free(&last);
    }
    user_communicator(const user_communicator&) = delete;
    user_communicator& operator=(const user_communicator&) = delete;

    MPI_Comm comm;                              // MPI_COMM_NULL once it is freed
    MPI_Errhandler last = MPI_ERRHANDLER_NULL;  // and then the error handler that it had
};

namespace {

using shared_user = std::shared_ptr<user_communicator>;

int forget(MPI_Comm comm, int, void* attribute, void*) {
    const std::unique_ptr<shared_user> user(static_cast<shared_user*>(attribute));
    (*user)->comm = MPI_COMM_NULL;
    int is_over = 0;
    MPI_Finalized(&is_over);
    return is_over ? MPI_SUCCESS : MPI_Comm_get_errhandler(comm, &(*user)->last);
}

shared_user user_of(MPI_Comm comm) {
    static std::mutex mutex;
    static int key = MPI_KEYVAL_INVALID;
    const std::scoped_lock lock(mutex);
    if (key == MPI_KEYVAL_INVALID)
        CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, nullptr));
    shared_user* found = nullptr;
    int is_there = 0;
    CROSSDOCK_MPI(MPI_Comm_get_attr(comm, key, static_cast<void*>(&found), &is_there));
    if (is_there) return *found;
    auto made = std::make_unique<shared_user>(std::make_shared<user_communicator>(comm));
    CROSSDOCK_MPI(MPI_Comm_set_attr(comm, key, made.get()));
    return *made.release();
}

}  // namespace

error_site::error_site(MPI_Comm user, const communicator& own) : user_(user_of(user)), own_(own) {}

void error_site::call_handler(int mpi_code) const noexcept {
    if (user_->comm != MPI_COMM_NULL) {
        MPI_Comm_call_errhandler(user_->comm, mpi_code);
        return;
    }
    const MPI_Comm substitute = own_.is_open() ? own_.get() : MPI_COMM_SELF;
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(substitute, &before);
    if (user_->last != MPI_ERRHANDLER_NULL) MPI_Comm_set_errhandler(substitute, user_->last);
    MPI_Comm_call_errhandler(substitute, mpi_code);
    MPI_Comm_set_errhandler(substitute, before);
    MPI_Errhandler_free(&before);
}

}  // namespace crossdock::c
