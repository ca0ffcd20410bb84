#include "crossdock/machine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/machines.hpp"
#include "support/project_file.hpp"

namespace crossdock::machine_test {
namespace {

using nlohmann::json;

// What the library says of a machine whose JSON was changed.
std::string refusal(const std::function<void(json&)>& change, errc expected) {
    auto text = json::parse(to_json(test::uniform_machine(100, 1000, 2)));
    change(text);
    try {
        static_cast<void>(machine_from_json(text.dump()));
    } catch (const error& fault) {
        EXPECT_EQ(fault.code(), expected);
        return fault.what();
    }
    return "nothing was thrown";
}

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

TEST(Machine, TakesTheProtocolOfAMessage) {
    auto m = test::uniform_machine(100, 1000, 2);
    auto& network = m.levels[static_cast<std::size_t>(locality_level::network)];
    network.rendezvous_bytes = 512;
    network.rendezvous.latency_seconds = 1;

    EXPECT_EQ(&m.at(locality_level::network).protocol_of(512), &network.eager);
    EXPECT_EQ(&m.at(locality_level::network).protocol_of(513), &network.rendezvous);
}

TEST(Machine, RefusesNumbersThatAreNegativeOrNotFinite) {
    EXPECT_EQ(refusal([](json& m) { m["matching_seconds"] = -1; }, errc::invalid_argument),
              "the machine \"uniform\": matching_seconds is -1, not a number >= 0");
    try {
        validate(test::uniform_machine(0, std::numeric_limits<double>::infinity(), 0));
        FAIL() << "nothing was thrown";
    } catch (const error& fault) {
        EXPECT_STREQ(fault.what(),
                     "the machine \"uniform\": levels.network.eager.latency_seconds is inf, not a "
                     "number >= 0");
    }
}

TEST(Machine, RefusesTimesThatNoMachineTakes) {
    EXPECT_EQ(refusal([](json& m) { m["hand_over_seconds"] = 1e7; }, errc::invalid_argument),
              "the machine \"uniform\": hand_over_seconds is 1e+07, more than 1000");
}

TEST(Machine, RefusesLatenciesThatAreOutOfOrder) {
    EXPECT_EQ(refusal([](json& m) { m["levels"]["node"]["eager"]["latency_seconds"] = 1e-7; },
                      errc::invalid_argument),
              "the machine \"uniform\": levels.region.eager.latency_seconds is 1e-06, more than "
              "levels.node.eager.latency_seconds, which is 1e-07");
    EXPECT_EQ(
        refusal([](json& m) { m["levels"]["network"]["rendezvous"]["latency_seconds"] = 1e-9; },
                errc::invalid_argument),
        "the machine \"uniform\": levels.network.eager.latency_seconds is 1e-06, more than "
        "levels.network.rendezvous.latency_seconds, which is 1e-09");
}

TEST(Machine, RefusesANumberWithoutASource) {
    EXPECT_EQ(refusal(
                  [](json& m) {
                      m["sources"].erase("levels");
                      m["sources"]["levels.self"] = "assumed";
                      m["sources"]["levels.node"] = "assumed";
                      m["sources"]["levels.region"] = "assumed";
                      m["sources"]["levels.network.eager"] = "assumed";
                  },
                  errc::invalid_argument),
              "the machine \"uniform\": levels.network.receive_overhead_seconds has no source");
}

TEST(Machine, RefusesWhatIsMissingUnknownOrOfAnotherKind) {
    EXPECT_NE(refusal([](json& m) { m.erase("hand_over_seconds"); }, errc::parse_error)
                  .find("hand_over_seconds"),
              std::string::npos);
    EXPECT_EQ(refusal([](json& m) { m["latency"] = 1; }, errc::parse_error),
              "not a machine: the field \"latency\" is unknown");
    EXPECT_EQ(refusal([](json& m) { m["latency"] = json::object(); }, errc::parse_error),
              "not a machine: the field \"latency\" is unknown");
    EXPECT_EQ(refusal([](json& m) { m["num_cores"] = 1.5; }, errc::parse_error),
              "not a machine: the number \"num_cores\" does not fit");
    EXPECT_EQ(refusal([](json& m) { m["num_cores"] = "2"; }, errc::parse_error),
              "not a machine: the field \"num_cores\" has another type");
    EXPECT_EQ(refusal(
                  [](json& m) {
                      m["levels"]["node"]["rendezvous_bytes"] = {1, 2};
                  },
                  errc::parse_error),
              "not a machine: levels.node.rendezvous_bytes is an array");
    EXPECT_EQ(refusal([](json& m) { m = json::array(); }, errc::parse_error),
              "not a machine: it is not an object");
    EXPECT_EQ(refusal([](json& m) { m["schema"] = "crossdock.plan/1"; }, errc::parse_error),
              "not a machine: expected one of schema crossdock.machine/1, found "
              "\"crossdock.plan/1\"");
}

TEST(Machine, IsLoadedFromItsJson) {
    const auto m = test::uniform_machine(100, 1000, 2);

    EXPECT_EQ(load_machine(to_json(m)), m);
    EXPECT_THROW(static_cast<void>(load_machine("{}")), error);
}

TEST(Machine, SaysWhichPresetsThereAreWhenAFileIsMissing) {
    try {
        static_cast<void>(load_machine("no/such/file.json"));
        FAIL() << "nothing was thrown";
    } catch (const error& fault) {
        EXPECT_EQ(fault.code(), errc::file_error);
        EXPECT_STREQ(fault.what(),
                     "\"no/such/file.json\" is neither a file that can be read nor one of the "
                     "machines blue_waters, bluegene_q, cray_xc40, emulated_cluster, generic_100g, "
                     "lassen, quartz, shared_cores, supermuc_ng");
    }
}

TEST(Machine, AFileThatIsRefusedIsNamed) {
    try {
        static_cast<void>(load_machine(test::project_file("CMakeLists.txt")));
        FAIL() << "nothing was thrown";
    } catch (const error& fault) {
        EXPECT_EQ(fault.code(), errc::parse_error);
        EXPECT_EQ(std::string(fault.what()).rfind((test::project_file("CMakeLists.txt") + ": "), 0),
                  0U);
    }
}

}  // namespace
}  // namespace crossdock::machine_test
