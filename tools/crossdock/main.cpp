#include <exception>

#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/verbs.hpp"

namespace {

namespace tool = crossdock::tool;

// Help, or what is wrong with the arguments; said once, without MPI.
int explain(const CLI::App& app, const CLI::ParseError& why) {
    // The launcher ends all processes at the first error: it must be the one that says why.
    if (!tool::is_first_process()) return 0;
    return app.exit(why);
}

int run(const tool::action& chosen) {
    try {
        return chosen();
    } catch (const std::exception& fault) {
        tool::report(fault.what());
        return tool::bad_input;
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Irregular MPI communication, re-sorted on the way", "crossdock");
    app.set_version_flag("--version", CROSSDOCK_VERSION);
    app.require_subcommand(1);
    tool::action chosen;
    tool::add_info(app, chosen);
    tool::add_analyze(app, chosen);
    tool::add_simulate(app, chosen);
    tool::add_draw(app, chosen);
    tool::add_report(app, chosen);
    tool::add_explain(app, chosen);
    tool::add_export(app, chosen);
    tool::add_bench(app, chosen);
    tool::add_calibrate(app, chosen);
    tool::add_demo(app, chosen);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& why) {
        return explain(app, why);
    }
    return run(chosen);
}
