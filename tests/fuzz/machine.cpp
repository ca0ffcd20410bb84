// A machine that is read can be written, and is read again as the same.
#include "crossdock/machine.hpp"
#include "fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crossdock;
    static fuzz::memory_file file;
    const std::string text(fuzz::text_of(data, size));
    fuzz::read_or_refuse([&] {
        const auto found = machine_from_json(text);
        fuzz::require(machine_from_json(to_json(found)) == found);
    });
    if (size % 8 == 0)
        fuzz::read_or_refuse([&] { static_cast<void>(load_machine(file.holding(text))); });
    return 0;
}
