// SPDX-License-Identifier: Apache-2.0
#include "cli/tree/shared_options.hpp"

#include <jobcore/policy_fields.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace signalbox::op::cli {

void add_cluster(CLI::App& to, cluster_options& options, CLI::Option* offline) {
    to.add_option("--kubeconfig", options.kubeconfig, "Kubeconfig file of the API server")
        ->type_name("FILE");
    to.add_option("--context", options.context, "Context of the kubeconfig, if not the current one")
        ->type_name("NAME");
    if (offline != nullptr) {
        for (const char* name : {"--kubeconfig", "--context"}) {
            to.get_option(name)->excludes(offline);
        }
    }
}

void add_log(CLI::App& to, log_options& options) {
    to.add_option("--log-level", options.level, "trace, debug, info, warning, error or off")
        ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
        ->type_name("LEVEL")
        ->capture_default_str();
    to.add_option("--log-format", options.format, "text, or json: one object per line")
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("FORMAT")
        ->capture_default_str();
}

void add_default_scheduler(CLI::App& to, std::string& name) {
    to.add_option(
          "--default-scheduler",
          name,
          fmt::format(
              "Who schedules jobs that name no scheduler, when they begin: {}",
              fmt::join(core::default_schedulers(), ", ")
          )
    )
        ->type_name("NAME");
}

void add_policy(CLI::App& to, std::vector<std::string>& overrides) {
    to.add_option("--policy", overrides, "Override a constant, in ms; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
}

void add_output(CLI::App& to, output_format& format) {
    to.add_option_function<std::string>(
          "-o,--output",
          [&format](const std::string& name) {
              format = name == "json" ? output_format::json : output_format::text;
          },
          "text or json"
    )
        ->check(CLI::IsMember({"text", "json"}))
        ->option_text("FORMAT [text]");
}

void add_files(CLI::App& to, std::vector<std::string>& files) {
    const auto add = [&files](const std::string& file) { files.push_back(file); };
    const char* what = "YAML or JSON, a folder of such, or - for standard input; may be repeated";
    to.add_option_function<std::string>("-f,--filename", add, what)
        ->type_name("FILE")
        ->trigger_on_parse();
    to.add_option_function<std::vector<std::string>>(
          "FILE",
          [&files](const std::vector<std::string>& more) {
              files.insert(files.end(), more.begin(), more.end());
          },
          "The same without -f"
    )
        ->type_name("");
    to.parse_complete_callback([&files] {
        if (files.empty()) {
            throw CLI::RequiredError("a FILE");
        }
    });
}

void add_target(CLI::App& to, std::string& target) {
    to.add_option("NAME", target, "The job, NAME or KIND/NAME")->type_name("")->required();
}

void add_namespace(CLI::App& to, std::string& ns, const std::string& what) {
    to.add_option("-n,--namespace", ns, what)->type_name("NAME");
}

}  // namespace signalbox::op::cli
