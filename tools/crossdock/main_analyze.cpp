#include "tools/crossdock/verbs.hpp"

namespace tool = crossdock::tool;

int main(int argc, char** argv) {
    return tool::run_program(argc, argv,
                             {&tool::add_analyze, &tool::add_simulate, &tool::add_draw,
                              &tool::add_report, &tool::add_export, &tool::add_why});
}
