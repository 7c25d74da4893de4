// SPDX-License-Identifier: Apache-2.0
#include "commands/script_job.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string_view>

#include <unistd.h>

namespace signalbox::op::cli {

namespace {

namespace files = std::filesystem;

constexpr std::string_view python_suffix = ".py";
constexpr std::string_view launcher = "torchrun";
constexpr std::string_view gpu_resource = "nvidia.com/gpu";

/// Where programs are, for a pod that says nothing else.
constexpr std::array<std::string_view, 6> usual_folders{
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};

/// Of these every container has its own, or they are the machine's.
constexpr std::array<std::string_view, 13> system_folders{
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/tmp",
    "/usr"};

/// `path` is `folder`, or below it.
bool lies_in(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) &&
           (path.size() == folder.size() || path[folder.size()] == '/' || folder == "/");
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string real_path(const std::string& path) {
    std::error_code failed;
    const files::path out = files::canonical(path, failed);
    return failed ? "" : out.string();
}

/// Why pods must not write into this folder, or nothing. Below /tmp and /run are folders of people
/// too; the two themselves are everybody's.
std::string why_not_written(const std::string& folder) {
    struct stat is = {};
    if (::stat(folder.c_str(), &is) != 0 || is.st_uid != ::geteuid()) {
        return "it is another user's";
    }
    const std::string home = real_path(variable("HOME"));
    if (folder == "/" || (!home.empty() && lies_in(home, folder))) {
        return "it is the home folder, or has it in it";
    }
    for (const std::string_view system : system_folders) {
        const bool shared = system == "/tmp" || system == "/run";
        if (shared ? folder == system : lies_in(folder, system)) {
            return "it is the system's";
        }
    }
    return "";
}

/// The program's name, as far as a job may be called that.
std::string job_name(const files::path& program) {
    constexpr std::size_t most = 40;
    std::string out;
    for (const char c : program.stem().string()) {
        const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        const bool good = (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9');
        if (good || (!out.empty() && out.back() != '-')) {
            out += good ? small : '-';
        }
    }
    out.resize(std::min(out.size(), most));
    while (!out.empty() && out.back() == '-') {
        out.pop_back();
    }
    const bool starts_well = !out.empty() && out.front() >= 'a';
    return starts_well ? out : "train" + (out.empty() ? out : "-" + out);
}

/// What is wrong with where torchrun is looked for, or nothing.
std::string torchrun_trouble(const kubelet::process_options& process) {
    std::vector<std::string> folders;
    if (!process.venv.empty()) {
        folders.push_back(process.venv + "/bin");
    }
    folders.insert(folders.end(), usual_folders.begin(), usual_folders.end());
    const auto has_it = [](const std::string& folder) {
        return ::access(fmt::format("{}/{}", folder, launcher).c_str(), X_OK) == 0;
    };
    // What an image has of its own shows when the pod starts.
    if (!process.images.empty() || std::ranges::any_of(folders, has_it)) {
        return "";
    }
    return fmt::format(
        "there is no {} in {}: it comes with PyTorch. Either\n"
        "  python3 -m venv venv && venv/bin/pip install torch    and add --venv venv,\n"
        "or --venv with an environment that has it, or --image NAME=PATH with an image that has it",
        launcher,
        core::printable(fmt::format("{}", fmt::join(folders, ", ")))
    );
}

std::uint64_t gpus_of(const kubelet::process_options& process) {
    const auto found = process.resources.find(std::string(gpu_resource));
    return found == process.resources.end() ? 0 : found->second;
}

/// A kubelet puts variables in place of $(NAME), and a dollar in place of two.
std::string as_argument(const std::string& word) {
    std::string out;
    for (const char c : word) {
        out += c == '$' ? "$$" : std::string(1, c);
    }
    return out;
}

std::string json_list(const std::vector<std::string>& texts) {
    std::vector<std::string> quoted;
    for (const std::string& each : texts) {
        quoted.push_back(core::json_string(each));
    }
    return fmt::format("[{}]", fmt::join(quoted, ","));
}

/// The image that the pods are of: the first that has a name on the command line.
std::string image_name(const kubelet::process_options& process) {
    for (const kubelet::image_folder& each : process.images) {
        if (each.glob.find_first_of("*?[\\") == std::string::npos) {
            return each.glob;
        }
    }
    return process.images.empty() ? "this-machine" : "image";
}

/// How the program is spread.
struct script_shape {
    std::uint64_t nodes = 1, processes = 1;
    bool has_gpus = false;  ///< one for each process
};

script_shape shape_of(const script_options& said, std::uint64_t gpus) {
    script_shape out;
    out.nodes = static_cast<std::uint64_t>(std::max(said.nodes, 1));
    out.processes = said.processes > 0 ? static_cast<std::uint64_t>(said.processes)
                                       : std::max<std::uint64_t>(gpus / out.nodes, 1);
    out.has_gpus = gpus > 0 && gpus >= out.nodes * out.processes;
    return out;
}

std::string manifest_of(
    const dev_options& options,
    const script_shape& shape,
    const std::string& image,
    const files::path& program
) {
    std::vector<std::string> args{as_argument(program.string())};
    for (std::size_t i = 1; i < options.script.words.size(); ++i) {
        args.push_back(as_argument(options.script.words[i]));
    }
    const std::string resources =
        shape.has_gpus
            ? fmt::format(R"(,"resources":{{"limits":{{"{}":{}}}}})", gpu_resource, shape.processes)
            : "";
    const std::string container = fmt::format(
        R"({{"name":"pytorch","image":{},"args":{},"workingDir":{}{}}})",
        core::json_string(image),
        json_list(args),
        core::json_string(program.parent_path().string()),
        resources
    );
    const std::string replicas = fmt::format(
        R"({{"type":"node","replicas":{},"restartPolicy":"Never",)"
        R"("template":{{"spec":{{"containers":[{}]}}}}}})",
        shape.nodes,
        container
    );
    return fmt::format(
        R"({{"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob",)"
        R"("metadata":{{"name":"{}"}},"spec":{{)"
        R"("torchrunConfig":{{"enabled":true,"procPerNode":"{}","maxRestarts":0}},)"
        R"("runPolicy":{{"backoffLimit":0,"cleanUpPolicy":"Unfinished"}},"replicaSpecs":[{}]}}}})",
        job_name(program),
        shape.processes,
        replicas
    );
}

/// Binds the folder where that is safe, and says which it is.
std::string take_folder(const files::path& program, kubelet::process_options& process) {
    const std::string folder = program.parent_path().string();
    const std::string why = why_not_written(folder);
    if (why.empty()) {
        process.binds.push_back({folder, folder});
        return fmt::format("they work in {}: what they write there stays", folder);
    }
    if (process.images.empty() && !lies_in(folder, "/tmp") && !lies_in(folder, "/run")) {
        return fmt::format(
            "they work in a copy of {}, as {}: what they write there is lost; put {} into a folder "
            "of its own to keep it",
            folder,
            why,
            program.filename().string()
        );
    }
    process.binds.push_back({folder, folder, true});
    return fmt::format(
        "they work in {}, which they can only read, as {}; put {} into a folder of its own to "
        "write there",
        folder,
        why,
        program.filename().string()
    );
}

}  // namespace

bool names_program(const script_options& said) {
    return !said.words.empty() && said.words.front().ends_with(python_suffix);
}

void read_script_words(dev_options& options) {
    std::vector<std::string>& words = options.script.words;
    if (words.empty()) {
        return;
    }
    if (!names_program(options.script)) {
        options.files.insert(options.files.end(), words.begin(), words.end());
        words.clear();
        return;
    }
    options.pods = pod_runtime_kind::process;
    options.logs = true;
    options.until_finished = true;
    const bool own_file_system = options.process.images.empty();
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        if (options.process.venv.empty() && own_file_system) {
            options.process.venv = variable(name);
        }
    }
}

std::optional<script_job> make_script_job(
    const dev_options& options, kubelet::process_options& process, std::ostream& err
) {
    const auto refuse = [&](const std::string& why) {
        err << "signalbox dev: " << why << '\n';
        return std::nullopt;
    };
    const std::string& said = options.script.words.front();
    const files::path program = real_path(said);
    std::error_code failed;
    if (program.empty() || !files::is_regular_file(program, failed)) {
        return refuse("there is no file " + core::printable(said));
    }
    const std::string folder = program.parent_path().string();
    if (folder == "/" || folder == "/tmp" || folder == "/run") {
        return refuse(fmt::format(
            "put {} into a folder of its own: of {} every pod has one of its own",
            core::printable(program.filename().string()),
            folder
        ));
    }
    if (const std::string trouble = torchrun_trouble(process); !trouble.empty()) {
        return refuse(trouble);
    }
    script_job out;
    out.name = said;
    const std::uint64_t gpus = gpus_of(process);
    const script_shape shape = shape_of(options.script, gpus);
    out.manifest = manifest_of(options, shape, image_name(process), program);
    out.notices.push_back(take_folder(program, process));
    if (!process.venv.empty()) {
        out.notices.push_back("their Python is that of " + process.venv);
    }
    if (gpus > 0 && !shape.has_gpus) {
        out.notices.push_back(fmt::format(
            "they see no GPU: there are {} here, for {} processes",
            gpus,
            shape.nodes * shape.processes
        ));
    }
    return out;
}

}  // namespace signalbox::op::cli
