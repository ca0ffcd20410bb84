#include "tools/crossdock/plots.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "crossdock/error.hpp"
#include "tools/crossdock/all_ranks.hpp"

namespace crossdock::tool {

namespace {

namespace fs = std::filesystem;

// Exit codes of the scripts, as tools/plots/plotting.py has them.
constexpr int said_why = 2;
constexpr int no_matplotlib = 3;

fs::path find_script(const std::string& name) {
    const char* const folder = std::getenv("CROSSDOCK_PLOTS");
    auto script = folder ? fs::path(folder) / name : project_file("plots", "tools/plots", name);
    if (fs::exists(script)) return script;
    throw error(errc::file_error, name + " is not in " + script.parent_path().string() +
                                      "; CROSSDOCK_PLOTS may name its folder");
}

// A file rather than a pipe: a script that does not read cannot block or end this process.
class script_input {
  public:
    explicit script_input(const json& data) : file_(std::tmpfile()) {
        const auto text = data.dump(-1, ' ', false, json::error_handler_t::replace);
        if (!file_ || std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
            std::fflush(file_.get()) != 0)
            throw error(errc::file_error,
                        std::string("cannot write a temporary file: ") + std::strerror(errno));
    }

    // The file's descriptor, to be read from the first byte.
    int rewound() const {
        const int descriptor = fileno(file_.get());
        ::lseek(descriptor, 0, SEEK_SET);
        return descriptor;
    }

  private:
    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, closer> file_;
};

// The process's exit status as `waitpid` has it; nothing if there is no such program.
std::optional<int> run_program(std::vector<std::string> arguments, int input) {
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    pid_t child = 0;
    const int fault =
        posix_spawnp(&child, pointers.front(), &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (fault == ENOENT) return std::nullopt;
    if (fault != 0)
        throw error(errc::file_error,
                    "cannot run " + arguments.front() + ": " + std::strerror(fault));
    int status = 0;
    while (::waitpid(child, &status, 0) == -1 && errno == EINTR) continue;
    return status;
}

std::vector<std::string> interpreters() {
    if (const char* const chosen = std::getenv("CROSSDOCK_PYTHON")) return {chosen};
    return {"python3", "/usr/bin/python3"};  // the system's has what the system's packages install
}

int exit_code(const std::string& script, int status) {
    if (WIFEXITED(status)) {
        const int code = WEXITSTATUS(status);
        if (code == 0) return 0;
        if (code == said_why) return bad_input;
        throw error(errc::file_error, script + " failed with exit code " + std::to_string(code));
    }
    throw error(errc::file_error,
                script + " was ended by signal " + std::to_string(WTERMSIG(status)));
}

}  // namespace

int run_plot_script(const std::string& script, const json& data, const std::string& output) {
    const auto path = find_script(script);
    const script_input input(data);
    std::string without_matplotlib;
    for (const auto& interpreter : interpreters()) {
        const auto status =
            run_program({interpreter, "-B", path.string(), output}, input.rewound());
        if (!status) continue;
        if (!WIFEXITED(*status) || WEXITSTATUS(*status) != no_matplotlib)
            return exit_code(script, *status);
        without_matplotlib = interpreter;
    }
    if (without_matplotlib.empty())
        throw error(
            errc::file_error,
            interpreters().front() + " is missing; pictures need the package python3-matplotlib");
    throw error(errc::file_error, without_matplotlib +
                                      " has no matplotlib; pictures need the package "
                                      "python3-matplotlib");
}

}  // namespace crossdock::tool
