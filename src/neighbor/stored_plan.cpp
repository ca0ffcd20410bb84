#include "stored_plan.hpp"

#include <bit>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include "../base/collective_mpi.hpp"
#include "../base/environment_mpi.hpp"
#include "../base/rank_fault_mpi.hpp"
#include "../executor/executor_mpi.hpp"
#include "../model/machine_mpi.hpp"
#include "../topology/nodes_mpi.hpp"
#include "crossdock/detail/base/word_hash.hpp"

namespace crossdock {

namespace {

// The folder, and a hash of what is the same for all plans of a communicator.
struct plan_folder final : communicator_resource {
    explicit plan_folder(const communicator& comm)
        : name(with_reserve([&] { return comm.resource<environment>().cache(); })) {
        if (name.empty()) return;
        const auto& machine = machine_of(comm);
        const auto& nodes = nodes_of(comm);
        const auto list = [&](named_values& values) {
            values.add("format", 1)
                .add("library", configuration())
                .add("machine", to_json(machine));
            for (const auto& entry : registered_routes()) values.add("route", entry.name);
            add_topology(values, "nodes", nodes);
        };
        surroundings = with_reserve([&] { return equal_arguments("stored plans", list).hash(); });
    }

    std::string name;
    std::int64_t surroundings = 0;
};

std::int64_t hash_of(std::span<const std::int64_t> words) noexcept {
    word_hash all;
    all.add(words);
    return static_cast<std::int64_t>(all.value());
}

// The words of a file: written from fields, or read into them.
struct plan_words {
    std::vector<std::int64_t> words;
    bool are_read = false;
    std::size_t next = 0;

    template <class... Fields>
    void add(Fields&... fields) {
        (add_one(fields), ...);
    }
    template <class Field>
    void add_one(Field& field) {
        if constexpr (std::integral<Field>) {
            if (!are_read) return words.push_back(static_cast<std::int64_t>(field));
            field = static_cast<Field>(words.at(next++));
        } else {
            auto length = field.size();
            add(length);
            if (are_read && length > words.size() - next) throw std::length_error("stored plan");
            field.resize(length);
            for (auto& one : field) add(one);
        }
    }
    void add_one(double& field) {
        auto bits = std::bit_cast<std::int64_t>(field);
        add(bits);
        field = std::bit_cast<double>(bits);
    }
    void add_one(outgoing_message& one) { add(one.destination, one.positions); }
    void add_one(incoming_message& one) { add(one.source, one.first_position, one.num_items); }
    void add_one(plan_stage& one) { add(one.sends, one.receives); }
    void add_one(delivery& one) { add(one.position, one.slot); }
    void add_one(candidate_price& one) { add(one.route, one.seconds, one.dominating_term); }
    void add_one(tried_route& one) { add(one.route, one.seconds); }
    void add_one(plan::contents& one) {
        add(one.rank, one.num_ranks, one.route_name, one.is_deduplicated, one.num_items,
            one.num_slots, one.stages, one.deliveries, one.item_destinations);
    }
};

plan_words words_of_choice(const kept_plan& kept) {
    plan_words all;
    auto route = kept.compiled->route();
    auto choice = kept.choice ? *kept.choice : route_choice();
    auto results = kept.results;
    all.add(route, choice.candidates, results);
    return all;
}

kept_plan read_plan(const std::string& file, const std::array<std::int64_t, 2>& key, rank_t rank) {
    plan_words all;
    all.are_read = true;
    all.words.resize(std::filesystem::file_size(file) / sizeof(std::int64_t));
    std::ifstream(file, std::ios::binary)
        .read(reinterpret_cast<char*>(all.words.data()),
              static_cast<std::streamsize>(all.words.size() * sizeof(std::int64_t)));
    if (all.words.size() < 3 || all.words[0] != key[0] || all.words[1] != key[1] ||
        all.words.back() != rank + hash_of(std::span(all.words).first(all.words.size() - 1)))
        throw error(errc::parse_error, file + " is damaged, or of another plan");
    all.next = key.size();
    kept_plan found;
    found.is_stored = true;
    std::string route;
    route_choice choice;
    plan::contents contents;
    all.add(route, choice.candidates, found.results, contents);
    if (!choice.candidates.empty()) found.choice = std::make_shared<const route_choice>(choice);
    found.compiled = std::make_shared<const plan>(std::move(contents));
    return found;
}

void write_plan(const std::string& file, const std::array<std::int64_t, 2>& key,
                const kept_plan& made) {
    const plan& p = *made.compiled;
    plan::contents contents{
        p.rank(),      p.num_ranks(), p.route(),      p.is_deduplicated(),  p.num_items(),
        p.num_slots(), p.stages(),    p.deliveries(), p.item_destinations()};
    auto all = words_of_choice(made);
    all.add(contents);
    all.words.insert(all.words.begin(), key.begin(), key.end());
    all.words.push_back(p.rank() + hash_of(all.words));
    std::random_device random;
    const auto own_name = fmt::format("{}.{:x}{:x}", file, random(), random());
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream out(own_name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(all.words.data()),
              static_cast<std::streamsize>(all.words.size() * sizeof(std::int64_t)));
    out.close();
    std::error_code fault;
    if (out) std::filesystem::rename(own_name, file, fault);
    if (!out || fault) std::filesystem::remove(own_name, fault);
}

}  // namespace

stored_plan::stored_plan(const context& where, const checked_pattern& p,
                         const neighbor_options& options, const equal_arguments& same) {
    const auto& comm = where.comm();
    const auto& folder = comm.resource<plan_folder>();
    if (folder.name.empty()) return;
    cache_ = &plan_cache::of(comm);
    const auto list = [&](named_values& values) {
        values.add(same)
            .add("route", asked_route(where, options.route))
            .add("deduplicate", options.deduplicate)
            .add("memory", static_cast<int>(memory_use_of(comm, options.executor)));
    };
    std::optional<error> fault;  // then this rank has no plan
    attempt(comm.rank(), fault, [&] {
        const auto arguments = equal_arguments("a stored plan", list).hash();
        const auto pattern = static_cast<std::int64_t>(p.hash());
        for (std::size_t i = 0; i < key_.size(); ++i)
            key_[i] = hash_of(std::array<std::int64_t, 5>{static_cast<std::int64_t>(i), comm.rank(),
                                                          pattern, arguments, folder.surroundings});
    });
    allreduce(comm, key_.data(), 2, MPI_UINT64_T, MPI_SUM);
    const auto slots = cache_->slots_of(static_cast<std::uint64_t>(key_[0]));
    kept_plan known;
    // Whether a rank lacks its plan, the highest hash of a choice, and the lowest.
    std::array<std::int64_t, 3> most{1, 0, 0};
    attempt(comm.rank(), fault, [&] {
        file_ = fmt::format("{}/{:x}.{:x}/{}", folder.name, key_[0], key_[1], comm.rank());
        known = slots != 0 ? cache_->at(slots) : read_plan(file_, key_, comm.rank());
        const auto choice = hash_of(words_of_choice(known).words) >> 1;
        most = {0, choice, -choice};
    });
    allreduce(comm, most.data(), 3, MPI_INT64_T, MPI_MAX);
    if (most[0] != 0 || most[1] != -most[2]) return;
    found_ = std::move(known);
    if (slots != 0) {
        cache_->use(slots);
    } else {
        cache_->keep(static_cast<std::uint64_t>(key_[0]), found_);
    }
}

void stored_plan::keep(kept_plan made) const noexcept {
    if (cache_ == nullptr) return;
    try {
        if (!file_.empty()) write_plan(file_, key_, made);
    } catch (...) {  // it is not kept
    }
    cache_->keep(static_cast<std::uint64_t>(key_[0]), std::move(made));
}

}  // namespace crossdock
