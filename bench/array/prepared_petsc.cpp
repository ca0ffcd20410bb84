#include "bench/array/prepared.hpp"
#include "bench/common/petsc_sf.hpp"

namespace crossdock::bench::array {

namespace {

class kept_forest final : public prepared_contender {
  public:
    kept_forest(const communicator& comm, const std::string& type, const rank_work& work)
        : comm_(comm),
          type_(type),
          work_(work),
          entries_(static_cast<std::size_t>(work.owners.size(comm.rank()))) {
        fill_first_values(work, entries_);
    }

    void clear() override {
        if (forest_) forest_->close();
        forest_.reset();
    }

    void set_up() override {
        const auto [owners, offsets] = locate(work_.owners, ends_of(work_.edges));
        forest_.emplace(comm_, static_cast<count_t>(entries_.size()), owners, offsets, type_);
    }

    void read(std::span<value_t> out) override { forest_->read(entries_, out); }

  private:
    const communicator& comm_;
    std::string type_;
    const rank_work& work_;
    std::vector<value_t> entries_;
    std::optional<petsc_sf> forest_;
};

}  // namespace

prepared_entrant prepared_petsc(const communicator& comm, const std::string& type) {
    return {"petsc_sf:" + type, std::nullopt, std::nullopt,
            [&comm, type](const rank_work& work) -> std::unique_ptr<prepared_contender> {
                return std::make_unique<kept_forest>(comm, type, work);
            }};
}

}  // namespace crossdock::bench::array
