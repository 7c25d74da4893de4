// SPDX-License-Identifier: Apache-2.0
#include "commands/process_pods.hpp"

#include "cli/print_line.hpp"
#include "containers/local_runtime.hpp"
#include "images/image_store.hpp"

#include <jobcore/strings.hpp>

#include <boost/asio/co_spawn.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <sstream>

#include <unistd.h>

namespace signalbox::op::cli {

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr const char* gpu = "nvidia.com/gpu";
/// Of logs that go with the command.
constexpr std::uint64_t kept_log_limit = 10 << 20;

/// What stands before and behind the first `mark`.
std::optional<std::pair<std::string, std::string>> halves(const std::string& text, char mark) {
    const std::size_t at = text.find(mark);
    if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
        return std::nullopt;
    }
    return std::pair(text.substr(0, at), text.substr(at + 1));
}

/// The machine's own.
std::uint64_t count_gpus() {
    std::uint64_t out = 0;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/dev", ignored)) {
        const std::string name = entry.path().filename().string();
        constexpr std::string_view start = "nvidia";
        out += name.starts_with(start) && core::read_digits(name.substr(start.size())) ? 1U : 0U;
    }
    return out;
}

std::string absolute(const std::string& path) {
    std::error_code failed;
    const fs::path out = fs::weakly_canonical(fs::absolute(path, failed), failed);
    return failed ? path : out.string();
}

bool is_folder(const std::string& path) {
    std::error_code failed;
    return fs::is_directory(path, failed);
}

class option_reader {
public:
    option_reader(const pod_process_options& said, std::function<void(const std::string&)> say)
        : said_(said), say_(std::move(say)) {}

    kubelet::process_options read() {
        variables();
        binds();
        resources();
        folder("--claims", said_.claims, out_.claims);
        folder("--venv", said_.venv, out_.venv);
        kept_folder("--outputs", said_.outputs, out_.outputs);
        kept_folder("--log-dir", said_.log_dir, out_.log_dir);
        std::error_code failed;
        if (!out_.venv.empty() && !fs::exists(out_.venv + "/bin/python3", failed)) {
            wrong("--venv: {} has no bin/python3: it is no virtual environment", said_.venv);
        }
        out_.offline = said_.offline;
        out_.user_namespaces = said_.user_namespaces;
        images();  // behind the other options, as it may take long
        make_kept_folder("--outputs", out_.outputs);
        make_kept_folder("--log-dir", out_.log_dir);
        return std::move(out_);
    }
    const std::vector<std::string>& errors() const { return errors_; }

private:
    template <class... Args>
    void wrong(fmt::format_string<Args...> text, Args&&... args) {
        errors_.push_back(fmt::format(text, std::forward<Args>(args)...));
    }

    void folder(const char* flag, const std::string& said, std::string& to) {
        if (!said.empty() && !is_folder(said)) {
            wrong("{}: there is no folder {}", flag, said);
        }
        to = said.empty() ? said : absolute(said);
    }

    /// Of what pods write. It is made where it alone is missing: a typing error before shows.
    void kept_folder(const char* flag, const std::string& said, std::string& to) {
        if (said.empty()) {
            return;
        }
        const fs::path path = (fs::path(absolute(said)) / "").parent_path();
        std::error_code failed;
        if (!is_folder(path.parent_path())) {
            wrong("{}: there is no folder {}", flag, path.parent_path().string());
        } else if (fs::exists(path, failed) && !is_folder(path)) {
            wrong("{}: there is no folder {}", flag, said);
        }
        to = path;
    }

    void make_kept_folder(const char* flag, const std::string& path) {
        std::error_code failed;
        if (errors_.empty() && !path.empty() && !fs::create_directory(path, failed) && failed) {
            wrong("{}: cannot make the folder {}: {}", flag, path, failed.message());
        }
    }

    void images() {
        const std::string cache =
            said_.image_cache.empty() ? images::default_image_folder() : said_.image_cache;
        images::image_store store(cache.empty() ? cache : absolute(cache), say_);
        for (const std::string& text : said_.images) {
            const auto parts = halves(text, '=');
            std::error_code failed;
            const std::string path = parts ? parts->second : text;
            if (!fs::exists(path, failed)) {
                parts ? wrong("--image: there is no folder or file {}", path)
                      : wrong("--image: `{}` is not GLOB=DIR", text);
            } else if (images::is_packed_image(path)) {
                packed_image(store, parts ? parts->first : "", path);
            } else if (parts) {
                out_.images.push_back({parts->first, absolute(path)});
            } else {
                wrong("--image: {} is a root file system: of which image? GLOB={}", path, path);
            }
        }
    }

    void packed_image(
        images::image_store& store, const std::string& wanted, const std::string& path
    ) {
        if (!errors_.empty()) {
            return;
        }
        auto taken = store.take(absolute(path), wanted);
        if (taken.has_error()) {
            wrong("--image: {}", taken.error().message);
            return;
        }
        for (const images::unpacked_image& image : *taken) {
            const std::vector<std::string> names =
                wanted.empty() ? image.names : std::vector<std::string>{wanted};
            if (names.empty()) {
                wrong("--image: {} has an image without a name: NAME={}", path, path);
            }
            for (const std::string& name : names) {
                out_.images.push_back({name, image.folder, image.config, image.held});
            }
        }
    }

    void variables() {
        for (const std::string& text : said_.image_variables) {
            // Names of images have colons, those of variables have none.
            const std::size_t equals = text.find('=');
            const std::size_t colon = text.rfind(':', equals);
            const bool whole = equals != std::string::npos && colon != std::string::npos &&
                               colon > 0 && colon + 1 < equals;
            if (!whole) {
                wrong("--image-env: `{}` is not GLOB:NAME=VALUE", text);
                continue;
            }
            out_.image_variables.push_back(
                {text.substr(0, colon),
                 text.substr(colon + 1, equals - colon - 1),
                 text.substr(equals + 1)}
            );
        }
    }

    void binds() {
        for (const std::string& text : said_.binds) {
            const auto parts = halves(text, ':');
            std::error_code failed;
            if (!parts || !parts->second.starts_with('/')) {
                wrong("--bind: `{}` is not SRC:DST with an absolute DST", text);
            } else if (!fs::exists(parts->first, failed)) {
                wrong("--bind: there is no {}", parts->first);
            } else {
                out_.binds.push_back({absolute(parts->first), parts->second, false});
            }
        }
    }

    void resources() {
        if (const std::uint64_t gpus = count_gpus(); gpus > 0) {
            out_.resources[gpu] = gpus;
        }
        for (const std::string& text : said_.fake_resources) {
            const auto parts = halves(text, '=');
            constexpr std::uint64_t most = 1'000'000;
            const auto count =
                parts ? core::read_whole_number<std::uint64_t>(parts->second, most) : std::nullopt;
            if (!count || parts->first.find('/') == std::string::npos) {
                wrong("--fake-resource: `{}` is not DOMAIN/NAME=COUNT, e.g. {}=8", text, gpu);
            } else {
                out_.resources[parts->first] = *count;
            }
        }
    }

    const pod_process_options& said_;
    std::function<void(const std::string&)> say_;
    kubelet::process_options out_;
    std::vector<std::string> errors_;
};

/// Debian's torch 1.13 looks for a member with the value 0 by iteration, which leaves that out
/// since Python 3.11: every torchrun ends with an AttributeError. Containers with the machine's own
/// files get that file repaired.
void repair_debians_torch(kubelet::process_options& wanted) {
    constexpr const char* module =
        "/usr/lib/python3/dist-packages/torch/distributed/elastic/multiprocessing/api.py";
    constexpr std::string_view wrong = "for s in Std:", right = "for s in (Std.NONE, *Std):";
    std::ifstream in(module, std::ios::binary);
    std::ostringstream read;
    read << in.rdbuf();
    std::string text = read.str();
    const std::size_t at = text.find(wrong);
    if (!in || at == std::string::npos || !wanted.images.empty()) {
        return;
    }
    text.replace(at, wrong.size(), right);
    const std::string repaired = wanted.folder + "/torch_elastic_api.py";
    std::ofstream out(repaired, std::ios::binary);
    if (out << text << std::flush) {
        constexpr auto for_all_users = static_cast<fs::perms>(0644);
        std::error_code failed;
        fs::permissions(repaired, for_all_users, failed);
        wanted.binds.insert(wanted.binds.begin(), kubelet::extra_bind{repaired, module});
    }
}

/// $XDG_RUNTIME_DIR, if it is one's own alone and on a disk: what pods write, and claims that stay,
/// are too much for the memory that mostly stands behind it.
std::optional<fs::path> runtime_folder() {
    const char* said = std::getenv("XDG_RUNTIME_DIR");
    struct stat is = {};
    struct statfs on = {};
    const bool good = said != nullptr && *said == '/' && ::lstat(said, &is) == 0 &&
                      S_ISDIR(is.st_mode) && is.st_uid == ::geteuid() && (is.st_mode & 077) == 0 &&
                      ::statfs(said, &on) == 0 && on.f_type != TMPFS_MAGIC;
    return good ? std::optional<fs::path>(said) : std::nullopt;
}

std::string default_folder() {
    if (const auto own = runtime_folder()) {
        return (*own / "signalbox").string();
    }
    std::error_code failed;
    const fs::path temporary = fs::temp_directory_path(failed);
    return ((failed ? fs::path("/tmp") : temporary) / fmt::format("signalbox-{}", ::getuid()))
        .string();
}

}  // namespace

std::string flags_for_processes(const pod_process_options& options) {
    const std::pair<std::string_view, bool> flags[] = {
        {"--image", !options.images.empty()},
        {"--image-env", !options.image_variables.empty()},
        {"--image-cache", !options.image_cache.empty()},
        {"--venv", !options.venv.empty()},
        {"--bind", !options.binds.empty()},
        {"--claims", !options.claims.empty()},
        {"--outputs", !options.outputs.empty()},
        {"--log-dir", !options.log_dir.empty()},
        {"--offline", options.offline},
        {"--user-namespaces", options.user_namespaces},
        {"--fake-resource", !options.fake_resources.empty()},
        {"--pods-dir", !options.folder.empty()}};
    std::string out;
    for (const auto& [name, is_given] : flags) {
        if (is_given) {
            out += (out.empty() ? "" : ", ") + std::string(name);
        }
    }
    return out;
}

std::optional<kubelet::process_options> read_process_options(
    const pod_process_options& options, const char* command, std::ostream& err
) {
    option_reader reader(options, [&](const std::string& what) {
        print_line(err, "{}: {}", command, what);
        err.flush();
    });
    kubelet::process_options out = reader.read();
    // Links are not followed here: whose they are is looked at (make_instance_folder).
    out.folder = options.folder.empty() ? default_folder() : fs::absolute(options.folder).string();
    for (const std::string& e : reader.errors()) {
        print_line(err, "{}: {}", command, e);
    }
    return reader.errors().empty() ? std::optional(std::move(out)) : std::nullopt;
}

std::unique_ptr<kubelet::process_runtime> start_process_pods(
    asio::io_context& loop,
    k8sio::client& api,
    kubelet::process_options wanted,
    const char* command,
    std::ostream& err
) {
    using made_runtime = containers::result<std::unique_ptr<containers::local_runtime>>;
    std::optional<made_runtime> made;
    containers::local_options local;
    local.folder = wanted.folder;
    local.offline = wanted.offline;
    asio::co_spawn(
        loop,
        containers::make_local_runtime(loop.get_executor(), std::move(local)),
        [&](std::exception_ptr broken, made_runtime result) {
            if (!broken) {
                made.emplace(std::move(result));
            }
            loop.stop();
        }
    );
    loop.run();
    loop.restart();
    if (!made || made->has_error()) {
        fmt::print(
            err,
            "{0}: this machine does not let pods run as processes: {1}\n"
            "{0}: {2}--{3} simulated needs nothing of it\n",
            command,
            made ? made->error().message : "the runtime could not be made",
            made && made->error().reason == "NoFolder" ? "--pods-dir DIR names another folder; "
                                                       : "",
            std::string_view(command).ends_with("dev") ? "pods" : "runtime"
        );
        return nullptr;
    }
    wanted.made_claims = (fs::path(wanted.folder) / "claims").string();
    wanted.folder = (**made)->folder();
    if (wanted.log_dir.empty()) {
        wanted.log_dir = wanted.folder + "/kept";
        wanted.log_limit = kept_log_limit;
    }
    repair_debians_torch(wanted);
    return kubelet::make_process_runtime(
        loop.get_executor(), api, std::move(**made), std::move(wanted)
    );
}

}  // namespace signalbox::op::cli
