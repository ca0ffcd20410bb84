#include <algorithm>
#include <cstdint>
#include <map>

#include "bench/gather/contender.hpp"
#include "bench/gather/shared_places.hpp"

namespace crossdock::bench::gather {

namespace {

using index_list = std::vector<std::uint32_t>;

void pack(const double* values, const index_list& places, double* to) {
    for (const auto place : places) *to++ = values[place];
}

// One method of gslib on the first copy of every shared id; the other copies are combined before and
// get the result after it.
class gslib_method : public contender {
  public:
    gslib_method(const context& where, std::span<const count_t> ids)
        : where_(where),
          tags_(where.comm().reserve_tags(1)),
          places_(find_places(where.comm(), ids)) {}

    void combine(std::span<double> values) final {
        places_.copies.gather(values.data());
        combine_shared(values.data());
        places_.copies.scatter(values.data());
    }

    traffic sent() const final { return sent_; }

  protected:
    virtual void combine_shared(double* values) = 0;

    rank_t rank() const { return where_.rank(); }
    const rank_places& places() const { return places_; }

    void count_message(rank_t destination, std::size_t num_items) {
        const auto& regions = where_.topology();
        const bool leaves = regions.region_of(destination) != regions.region_of(rank());
        const auto items = static_cast<count_t>(num_items);
        sent_ += {1, items, leaves ? 1 : 0, leaves ? items : 0};
    }
    void receive(double* values, std::size_t size, rank_t source, MPI_Request& request) const {
        CROSSDOCK_MPI(MPI_Irecv(values, checked_cast<int>(size), MPI_DOUBLE, source, tags_.first(),
                                where_.comm().get(), &request));
    }
    void send(const double* values, std::size_t size, rank_t destination,
              MPI_Request& request) const {
        CROSSDOCK_MPI(MPI_Isend(values, checked_cast<int>(size), MPI_DOUBLE, destination,
                                tags_.first(), where_.comm().get(), &request));
    }
    static void wait(std::vector<MPI_Request>& requests) {
        CROSSDOCK_MPI(
            MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    }
    std::vector<count_t> exchange(const std::vector<count_t>& words, rank_t destination,
                                  rank_t source) const;
    MPI_Comm comm() const { return where_.comm().get(); }

  private:
    const context& where_;
    tag_block tags_;
    rank_places places_;
    traffic sent_;
};

// Words to one rank, and from one; MPI_PROC_NULL is none.
std::vector<count_t> gslib_method::exchange(const std::vector<count_t>& words, rank_t destination,
                                            rank_t source) const {
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Isend(words.data(), checked_cast<int>(words.size()), MPI_INT64_T, destination,
                            tags_.first(), comm(), &request));
    std::vector<count_t> came;
    if (source != MPI_PROC_NULL) {
        MPI_Status status;
        int size = 0;
        CROSSDOCK_MPI(MPI_Probe(source, tags_.first(), comm(), &status));
        CROSSDOCK_MPI(MPI_Get_count(&status, MPI_INT64_T, &size));
        came.resize(static_cast<std::size_t>(size));
        CROSSDOCK_MPI(MPI_Recv(came.data(), size, MPI_INT64_T, source, tags_.first(), comm(),
                               MPI_STATUS_IGNORE));
    }
    CROSSDOCK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return came;
}

class pairwise final : public gslib_method {
  public:
    pairwise(const context& where, std::span<const count_t> ids) : gslib_method(where, ids) {
        std::map<rank_t, index_list> by_peer;  // in the order of ids, as the peer has them
        for (const auto& one : places().shared)
            for (const rank_t holder : one.holders)
                if (holder != rank()) by_peer[holder].push_back(one.place);
        for (const auto& [peer, list] : by_peer) {
            peers_.push_back({peer, list.size()});
            all_.insert(all_.end(), list.begin(), list.end());
            count_message(peer, list.size());
        }
        requests_.resize(2 * peers_.size());
        to_send_.resize(all_.size());
        received_.resize(all_.size());
    }

  private:
    void combine_shared(double* values) override {
        std::size_t first = 0, next = 0;
        for (const auto& [peer, size] : peers_) {
            receive(&received_[first], size, peer, requests_[next++]);
            first += size;
        }
        pack(values, all_, to_send_.data());
        first = 0;
        for (const auto& [peer, size] : peers_) {
            send(&to_send_[first], size, peer, requests_[next++]);
            first += size;
        }
        wait(requests_);
        for (std::size_t i = 0; i < all_.size(); ++i) values[all_[i]] += received_[i];
    }

    struct shared_with_peer {
        rank_t peer;
        std::size_t num_ids;
    };
    std::vector<shared_with_peer> peers_;
    index_list all_;
    std::vector<double> to_send_, received_;
    std::vector<MPI_Request> requests_;
};

// At each stage the ranks that a value is for are cut in two halves, and who holds it sends it to its
// partner in the other half if that has such ranks, and keeps it if its own has.
class crystal_router final : public gslib_method {
  public:
    crystal_router(const context& where, std::span<const count_t> ids) : gslib_method(where, ids) {
        std::vector<held_id> held;
        for (const auto& one : places().shared) {
            held.push_back({one.id, one.holders});
            place_of_.emplace(one.id, static_cast<std::uint32_t>(held.size() - 1));
        }
        for (rank_t first = 0, size = where.num_ranks(); size > 1;) add_stage(held, first, size);
        work_.resize(place_of_.size());
    }

  private:
    struct held_id {
        count_t id;
        std::vector<rank_t> targets;
    };
    struct half {
        rank_t first, size;
        bool has(rank_t r) const { return r >= first && r < first + size; }
    };
    struct received_message {
        rank_t source;
        index_list fresh;      // where the values of ids go that were not held
        index_list positions;  // of these in the message
        index_list known;
        index_list known_positions;
        std::vector<double> values;
    };
    struct stage {
        rank_t destination;
        index_list sent;
        std::vector<double> to_send;
        std::vector<received_message> receives;
        std::vector<MPI_Request> requests;
    };

    // Who gets a value that `targets` names in a half.
    static std::vector<rank_t> targets_in(const half& part, const std::vector<rank_t>& targets) {
        std::vector<rank_t> found;
        for (const rank_t target : targets)
            if (part.has(target)) found.push_back(target);
        return found;
    }

    // The lower half has one rank more where they are odd; the last of it sends to the last of all.
    void add_stage(std::vector<held_id>& held, rank_t& first, rank_t& size) {
        const half lower{first, (size + 1) / 2};
        const half upper{first + lower.size, size - lower.size};
        const bool is_low = lower.has(rank());
        const bool is_unpaired = is_low && !upper.has(rank() + lower.size);
        const half& own = is_low ? lower : upper;
        const half& other = is_low ? upper : lower;
        const rank_t last = first + size - 1;
        const rank_t partner = is_unpaired ? last
                               : is_low    ? rank() + lower.size
                                           : rank() - lower.size;
        stage one;
        one.destination = partner;
        std::vector<count_t> words;
        std::vector<held_id> kept;
        for (auto& value : held) {
            const auto there = targets_in(other, value.targets);
            if (!there.empty()) {
                one.sent.push_back(place_of_.at(value.id));
                words.insert(words.end(), {value.id, static_cast<count_t>(there.size())});
                words.insert(words.end(), there.begin(), there.end());
            }
            auto here = targets_in(own, value.targets);
            if (!here.empty()) kept.push_back({value.id, std::move(here)});
        }
        add_message(exchange(words, partner, is_unpaired ? MPI_PROC_NULL : partner), partner, one,
                    kept);
        if (rank() == last && size % 2 != 0) {
            const rank_t unpaired = first + lower.size - 1;
            add_message(exchange({}, MPI_PROC_NULL, unpaired), unpaired, one, kept);
        }
        one.to_send.resize(one.sent.size());
        if (!one.sent.empty()) count_message(partner, one.sent.size());
        one.requests.resize(one.receives.size() + (one.sent.empty() ? 0 : 1));
        stages_.push_back(std::move(one));
        held = std::move(kept);
        first = own.first;
        size = own.size;
    }

    void add_message(const std::vector<count_t>& words, rank_t source, stage& one,
                     std::vector<held_id>& kept) {
        if (words.empty()) return;
        std::map<count_t, bool> is_held;
        for (const auto& value : kept) is_held[value.id] = true;
        received_message message{source, {}, {}, {}, {}, {}};
        std::uint32_t position = 0;
        for (std::size_t w = 0; w < words.size(); ++position) {
            const count_t id = words[w];
            const auto end = w + 2 + static_cast<std::size_t>(words[w + 1]);
            std::vector<rank_t> targets;
            for (w += 2; w < end; ++w) targets.push_back(static_cast<rank_t>(words[w]));
            const auto place =
                place_of_.emplace(id, static_cast<std::uint32_t>(place_of_.size())).first->second;
            if (is_held.contains(id)) {
                message.known.push_back(place);
                message.known_positions.push_back(position);
            } else {
                message.fresh.push_back(place);
                message.positions.push_back(position);
                kept.push_back({id, std::move(targets)});
            }
        }
        message.values.resize(position);
        one.receives.push_back(std::move(message));
    }

    void combine_shared(double* values) override {
        for (std::size_t i = 0; i < places().shared.size(); ++i)
            work_[i] = values[places().shared[i].place];
        for (auto& one : stages_) {
            auto request = one.requests.begin();
            for (auto& message : one.receives)
                receive(message.values.data(), message.values.size(), message.source, *request++);
            pack(work_.data(), one.sent, one.to_send.data());
            if (!one.sent.empty())
                send(one.to_send.data(), one.to_send.size(), one.destination, *request);
            wait(one.requests);
            for (const auto& message : one.receives) {
                for (std::size_t i = 0; i < message.fresh.size(); ++i)
                    work_[message.fresh[i]] = message.values[message.positions[i]];
                for (std::size_t i = 0; i < message.known.size(); ++i)
                    work_[message.known[i]] += message.values[message.known_positions[i]];
            }
        }
        for (std::size_t i = 0; i < places().shared.size(); ++i)
            values[places().shared[i].place] = work_[i];
    }

    std::map<count_t, std::uint32_t> place_of_;  // in the work array
    std::vector<stage> stages_;
    std::vector<double> work_;
};

class all_reduce final : public gslib_method {
  public:
    all_reduce(const context& where, std::span<const count_t> ids)
        : gslib_method(where, ids), all_(static_cast<std::size_t>(places().num_shared)) {}

  private:
    void combine_shared(double* values) override {
        std::fill(all_.begin(), all_.end(), 0.0);
        for (const auto& one : places().shared)
            all_[static_cast<std::size_t>(one.number)] = values[one.place];
        CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, all_.data(), checked_cast<int>(all_.size()),
                                    MPI_DOUBLE, MPI_SUM, comm()));
        for (const auto& one : places().shared)
            values[one.place] = all_[static_cast<std::size_t>(one.number)];
    }

    std::vector<double> all_;
};

template <class Method>
entrant entrant_of(const std::string& name) {
    return {name, true,
            [](const context& where, std::span<const count_t> ids) -> std::unique_ptr<contender> {
                return std::make_unique<Method>(where, ids);
            }};
}

std::vector<entrant> methods() {
    return {entrant_of<pairwise>("pairwise"), entrant_of<crystal_router>("crystal_router"),
            entrant_of<all_reduce>("all_reduce")};
}

class tuned final : public contender {
  public:
    tuned(const context& where, std::span<const count_t> ids) {
        std::vector<double> values(ids.size());
        double least_seconds = 0;
        for (const auto& method : methods()) {
            auto tried = method.set_up(where, ids);
            tried->combine(values);
            CROSSDOCK_MPI(MPI_Barrier(where.comm().get()));
            double seconds = -MPI_Wtime();
            for (int i = 0; i < 10; ++i) tried->combine(values);
            seconds += MPI_Wtime();
            CROSSDOCK_MPI(
                MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, where.comm().get()));
            if (best_ && seconds >= least_seconds) continue;
            least_seconds = seconds;
            best_ = std::move(tried);
            name_ = method.name;
        }
    }

    void combine(std::span<double> values) override { best_->combine(values); }
    traffic sent() const override { return best_->sent(); }
    std::string choice() const override { return name_; }

  private:
    std::unique_ptr<contender> best_;
    std::string name_;
};

}  // namespace

std::vector<entrant> baselines() {
    auto all = methods();
    all.push_back(entrant_of<tuned>("tuned"));
    return all;
}

}  // namespace crossdock::bench::gather
