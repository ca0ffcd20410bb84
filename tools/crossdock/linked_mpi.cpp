#include "tools/crossdock/linked_mpi.hpp"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace crossdock::tool {

namespace {

namespace fs = std::filesystem;

// A file of which parts are read by their offset. What the file lacks is left zero.
class elf_file {
  public:
    explicit elf_file(const fs::path& file) : file_(file, std::ios::binary) {}

    template <class T>
    T read(std::uint64_t offset) {
        T value{};
        file_.clear();
        file_.seekg(static_cast<std::streamoff>(offset));
        if (!file_.read(reinterpret_cast<char*>(&value), sizeof value)) value = T{};
        return value;
    }

    std::string read_text(std::uint64_t offset) {
        std::string text;
        file_.clear();
        file_.seekg(static_cast<std::streamoff>(offset));
        std::getline(file_, text, '\0');
        return text;
    }

  private:
    std::ifstream file_;
};

// The names of the libraries that a file asks for.
std::vector<std::string> needed_libraries(const fs::path& path) {
    elf_file file(path);
    const auto header = file.read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        return {};
    std::vector<Elf64_Phdr> segments;
    for (int i = 0; i < header.e_phnum; ++i)
        segments.push_back(file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));

    std::uint64_t names = 0;
    std::vector<std::uint64_t> needed;
    for (const auto& segment : segments) {
        if (segment.p_type != PT_DYNAMIC) continue;
        for (std::uint64_t at = 0; at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
            const auto entry = file.read<Elf64_Dyn>(segment.p_offset + at);
            if (entry.d_tag == DT_NULL) break;
            if (entry.d_tag == DT_NEEDED) needed.push_back(entry.d_un.d_val);
            if (entry.d_tag == DT_STRTAB) names = entry.d_un.d_ptr;
        }
    }
    std::vector<std::string> libraries;
    // An address in memory is in one of the segments that are loaded.
    for (const auto& segment : segments)
        if (segment.p_type == PT_LOAD && names - segment.p_vaddr < segment.p_filesz)
            for (const auto name : needed)
                libraries.push_back(
                    file.read_text(segment.p_offset + (names - segment.p_vaddr) + name));
    return libraries;
}

// Empty for a library that is no MPI's.
std::string family_of(const std::string& library) {
    if (library.starts_with("libmpi_abi.so.")) return "the MPI-5 ABI";
    // Cray's have the name of a compiler in theirs.
    if (library.starts_with("libmpi") && library.ends_with(".so.12")) return "MPICH";
    return library.starts_with("libmpi.so.") ? "Open MPI" : "";
}

}  // namespace

linked_mpi mpi_of_file(const fs::path& file) {
    for (const auto& library : needed_libraries(file))
        if (auto family = family_of(library); !family.empty()) return {library, family};
    return {};
}

fs::path find_mpi_program(const std::vector<std::string>& command) {
    const char* const path = std::getenv("PATH");
    const auto is_program = [](const fs::path& file) {
        std::error_code none;
        return fs::is_regular_file(file, none) && !mpi_of_file(file).library.empty();
    };
    for (const auto& word : command) {
        if (is_program(word)) return word;
        if (word.empty() || word.find('/') != word.npos) continue;
        std::istringstream folders(path == nullptr ? "" : path);
        for (std::string folder; std::getline(folders, folder, ':');)
            if (const auto file = fs::path(folder) / word; is_program(file)) return file;
    }
    return {};
}

}  // namespace crossdock::tool
