#include "crossdock/device.hpp"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <regex>

#include "backends.hpp"
#include "crossdock/error.hpp"
#include "kernels.hpp"

namespace crossdock::device {

namespace {

static_assert(std::is_same_v<index_t, count_t>);

// Places in `kernel_names`.
constexpr int num_copies = 5;
constexpr int num_types = 4;

#define NAME_COPY(bytes, word) "crossdock_copy_" #bytes,
#define NAME_FOLD(operation, name, type) "crossdock_fold_" #operation "_" #name,

template <class Open>
std::shared_ptr<driver> share(const std::string& name, Open&& open) {
    static std::mutex one_at_a_time;
    static std::map<std::string, std::weak_ptr<driver>> opened;
    const std::lock_guard lock(one_at_a_time);
    if (auto one = opened[name].lock()) return one;
    std::shared_ptr<driver> made = open();
    opened[name] = made;
    return made;
}

std::shared_ptr<driver> open_first() {
    std::string why;
    for (const char* const name : {"cuda", "hip"}) {
        try {
            return open(name);
        } catch (const error& fault) {
            why += std::string(why.empty() ? "" : "; ") + fault.what();
        }
    }
    throw error(errc::invalid_state, "no device was found: " + why);
}

// mock, mock:SEED or mock:SEED:FORGOTTEN
std::shared_ptr<driver> open_mock(const std::string& name) {
    static const std::regex form("mock(:([0-9]{1,9})(:(is_complete|let_wait|record))?)?");
    std::smatch parts;
    if (!std::regex_match(name, parts, form))
        throw error(errc::invalid_argument, "'" + name + "' has no seed: write mock:17");
    const auto seed = std::strtoul(parts[2].matched ? parts[2].str().c_str() : "1", nullptr, 10);
    return share(name, [&] { return make_mock(seed, parts[4]); });
}

}  // namespace

const std::array<const char*, driver::num_kernels> driver::kernel_names{
    CROSSDOCK_DEVICE_KERNELS(NAME_COPY, NAME_FOLD)};

// In the widest words that items and arrays allow.
void driver::copy(const copy_call& what, stream on) {
    if (what.num_items == 0) return;
    const auto places = reinterpret_cast<std::uintptr_t>(what.to) |
                        reinterpret_cast<std::uintptr_t>(what.from) | what.item_bytes | 16;
    const int kernel = std::countr_zero(places);
    const copy_arguments arguments{what.to, what.from, what.to_list, what.from_list,
                                   static_cast<count_t>(what.item_bytes >> kernel)};
    launch(kernel, &arguments, sizeof(arguments), what.num_items * arguments.words_per_item, on);
}

void driver::fold(const fold_call& what, stream on) {
    if (what.num_groups == 0) return;
    const int kernel =
        num_copies + static_cast<int>(what.operation) * num_types + static_cast<int>(what.type);
    const fold_arguments arguments{what.to, what.from, what.offsets, what.list, what.width};
    launch(kernel, &arguments, sizeof(arguments), what.num_groups * what.width, on);
}

std::shared_ptr<driver> open(const std::string& name) {
    if (name == "auto") {
        const char* const said = std::getenv("CROSSDOCK_DEVICE");
        return said && *said && std::string(said) != "auto" ? open(said) : open_first();
    }
    if (name == "cuda") return share(name, make_cuda);
    if (name == "hip") return share(name, make_hip);
    if (name.starts_with("mock")) return open_mock(name);
    throw error(errc::invalid_argument,
                "there is no device '" + name + "': say cuda, hip, mock or auto");
}

}  // namespace crossdock::device
