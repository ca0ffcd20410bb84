#include "bench/array/contender.hpp"
#include "bench/common/petsc_sf.hpp"

namespace crossdock::bench::array {

namespace {

class forest_of_each_batch final : public contender {
  public:
    forest_of_each_batch(const communicator& comm, count_t num_entries)
        : comm_(comm),
          owners_(block_partition::blocks(num_entries, comm.num_ranks())),
          entries_(static_cast<std::size_t>(owners_.size(comm.rank()))) {}

    std::span<value_t> entries() override { return entries_; }

    void run(const request_batch& batch, std::span<value_t> replies) override {
        const auto [ranks, offsets] = locate(owners_, batch.indices);
        petsc_sf forest(comm_, owners_.size(comm_.rank()), ranks, offsets);
        switch (batch.kind) {
            case request_traits::read: forest.read(entries_, replies); break;
            case request_traits::sum: forest.update(batch.values, entries_, MPI_SUM); break;
            case request_traits::minimum: forest.update(batch.values, entries_, MPI_MIN); break;
        }
        forest.close();
    }

  private:
    const communicator& comm_;
    block_partition owners_;
    std::vector<value_t> entries_;
};

}  // namespace

located_entries locate(const block_partition& owners, std::span<const count_t> indices) {
    located_entries result;
    result.owners.reserve(indices.size());
    result.offsets.reserve(indices.size());
    for (const count_t index : indices) {
        const rank_t owner = owners.owner(index);
        result.owners.push_back(owner);
        result.offsets.push_back(index - owners.first(owner));
    }
    return result;
}

entrant petsc_forest(const communicator& comm) {
    return {"petsc_sf", std::nullopt, std::nullopt, false,
            [&comm](count_t num_entries) -> std::unique_ptr<contender> {
                return std::make_unique<forest_of_each_batch>(comm, num_entries);
            }};
}

std::string petsc_obstacle() { return bench::petsc_obstacle("basic"); }

}  // namespace crossdock::bench::array
