#include "crossdock/machine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/machines.hpp"
#include "support/project_file.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::machine_test {
namespace {

using nlohmann::json;
using test::thrown_by;

TEST(Machine, IsReadBackEqual) {
    for (const auto& m : machine_presets()) EXPECT_EQ(machine_from_json(to_json(m)), m) << m.name;
}

TEST(Machine, IsWrittenAsTheSameDocumentThatAJsonLibraryWrites) {
    auto m = test::uniform_machine(100, 1000, 2);
    m.description = "two \"lines\",\n\xc3\xa4";
    m.sources["levels.self"] = "assumed";

    EXPECT_EQ(to_json(m), json::parse(to_json(m)).dump(2) + '\n');
}

TEST(Machine, PresetsAreThoseOfTheStudiesAndNamedAsTheirFiles) {
    std::vector<std::string> names;
    for (const auto& m : machine_presets()) names.push_back(m.name);

    EXPECT_EQ(names, (std::vector<std::string>{"blue_waters", "bluegene_q", "cray_xc40",
                                               "emulated_cluster", "generic_100g", "lassen",
                                               "quartz", "shared_cores", "supermuc_ng"}));
    EXPECT_EQ(default_machine().name, "generic_100g");
}

TEST(Machine, HasCostsOfDevicesWhereItsTextHas) {
    auto m = test::uniform_machine(100, 1000, 2);
    EXPECT_EQ(thrown_by([&] { (void)machine_of_devices(m); }).code(), errc::invalid_argument);
    auto& device = m.device.emplace();
    device.copy = {1e-5, 2e-11};
    device.levels = m.levels;
    device.levels[2].eager.seconds_per_byte = 3;
    EXPECT_EQ(thrown_by([&] { validate(m); }).code(), errc::invalid_argument);
    m.sources["device"] = "assumed";
    const auto text = to_json(m);
    EXPECT_EQ(machine_from_json(text), m);
    EXPECT_EQ(machine_of_devices(m).levels, device.levels);
    EXPECT_EQ(machine_of_devices(m).injection_seconds_per_byte, m.injection_seconds_per_byte);

    auto incomplete = json::parse(text);
    incomplete["device"].erase("copy");
    EXPECT_EQ(thrown_by([&] { static_cast<void>(machine_from_json(incomplete.dump())); }).code(),
              errc::parse_error);
}

TEST(Machine, TakesTheProtocolOfAMessage) {
    auto m = test::uniform_machine(100, 1000, 2);
    auto& network = m.levels[static_cast<std::size_t>(locality_level::network)];
    network.rendezvous_bytes = 512;
    network.rendezvous.latency_seconds = 1;

    EXPECT_EQ(&m.at(locality_level::network).protocol_of(512), &network.eager);
    EXPECT_EQ(&m.at(locality_level::network).protocol_of(513), &network.rendezvous);
}

TEST(Machine, RefusesWhatIsNone) {
    using change = std::function<void(json&)>;
    const auto code_of = [](const change& make) {
        auto text = json::parse(to_json(test::uniform_machine(100, 1000, 2)));
        make(text);
        return thrown_by([&] { return machine_from_json(text.dump()); }).code();
    };
    const change invalid[] = {
        [](json& m) { m["matching_seconds"] = -1; }, [](json& m) { m["hand_over_seconds"] = 1e7; },
        [](json& m) { m["levels"]["node"]["eager"]["latency_seconds"] = 1e-7; },
        [](json& m) { m["levels"]["network"]["rendezvous"]["latency_seconds"] = 1e-9; },
        [](json& m) {
            m["sources"].erase("levels");  // of some there are, and of others not
            for (const char* level : {"self", "node", "region", "network.eager"})
                m["sources"][std::string("levels.") + level] = "assumed";
        }};
    const change unreadable[] = {
        [](json& m) { m.erase("hand_over_seconds"); },
        [](json& m) { m["latency"] = 1; },
        [](json& m) { m["latency"] = json::object(); },
        [](json& m) { m["num_cores"] = 1.5; },
        [](json& m) { m["num_cores"] = "2"; },
        [](json& m) { m["schema"] = "crossdock.plan/1"; },
        [](json& m) { m["levels"]["node"]["rendezvous_bytes"] = json::array(); },
        [](json& m) { m = json::array(); }};
    for (const auto& one : invalid) EXPECT_EQ(code_of(one), errc::invalid_argument);
    for (const auto& one : unreadable) EXPECT_EQ(code_of(one), errc::parse_error);
    const auto endless = test::uniform_machine(0, std::numeric_limits<double>::infinity(), 0);
    EXPECT_EQ(thrown_by([&] { validate(endless); }).code(), errc::invalid_argument);
}

TEST(Machine, IsLoadedByNameOrFromItsJson) {
    const auto m = test::uniform_machine(100, 1000, 2);
    const auto fault_of = [](const std::string& text) {
        return thrown_by([&] { return load_machine(text); });
    };
    const auto unreadable = test::project_file("CMakeLists.txt");

    EXPECT_EQ(load_machine(to_json(m)), m);
    EXPECT_EQ(fault_of("{}").code(), errc::parse_error);
    EXPECT_EQ(fault_of(unreadable).code(), errc::parse_error);
    EXPECT_TRUE(std::string(fault_of(unreadable).what()).starts_with(unreadable + ": "));
    const error missing = fault_of("no/such/file.json");
    EXPECT_EQ(missing.code(), errc::file_error);
    for (const auto& preset : machine_presets())
        EXPECT_NE(std::string(missing.what()).find(preset.name), std::string::npos);
}

}  // namespace
}  // namespace crossdock::machine_test
