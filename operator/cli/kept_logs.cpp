// SPDX-License-Identifier: Apache-2.0
#include "cli/kept_logs.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>

namespace signalbox::op::cli {

namespace fs = std::filesystem;

std::vector<kept_log_file> find_kept_logs(
    const cluster_options& cluster,
    const std::string& ns,
    const std::string& job,
    std::int64_t attempt
) {
    const char* variable = std::getenv("KUBECONFIG");
    std::string file = cluster.kubeconfig;
    if (file.empty() && variable != nullptr) {
        file = variable;
        file = file.substr(0, file.find(':'));
    }
    // As kept_log_path() of the local node names them.
    const std::string name = ns == "default" ? job : ns + "_" + job;
    const fs::path folder = fs::path(file + ".logs") / name / fmt::format("attempt-{}", attempt);
    std::map<std::string, kept_log_file> found;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end;
         it.increment(failed)) {
        const fs::path path = it->path();
        const std::string replica = path.stem().string();
        // Those of other containers have their names behind a dot.
        if (path.extension() == ".log" && replica.find('.') == std::string::npos) {
            const fs::path older = path.string() + ".1";
            std::error_code missing;
            if (fs::exists(older, missing)) {
                found[replica].paths.push_back(older.string());
            }
            found[replica].paths.push_back(path.string());
            found[replica].replica = replica;
        }
    }
    std::vector<kept_log_file> out;
    for (auto& [replica, log] : found) {
        out.push_back(std::move(log));
    }
    return out;
}

}  // namespace signalbox::op::cli
