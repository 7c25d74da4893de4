// SPDX-License-Identifier: Apache-2.0
#include "launch/ssh_pods.hpp"

#include "jobcore/strings.hpp"
#include "launch/bootstrap.hpp"
#include "launch/pod_variables.hpp"
#include "launch/quoting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace signalbox::core::launch {
namespace {

constexpr std::string_view secret_volume_name = "signalbox-ssh";
constexpr std::string_view key_volume_name = "signalbox-keys";
constexpr std::string_view config_volume_name = "signalbox-config";
constexpr std::string_view run_volume_name = "signalbox-run";
constexpr std::int32_t usual_port = 2222;
constexpr std::int32_t first_host_port = 20000;
constexpr std::int32_t host_ports = 10000;

constexpr std::string_view config_key = "config";

/// The keys of the Secret and their files. The private key's file is named after its type, or
/// ColossalAI's client takes it for RSA (LAUNCH.md 4.3).
struct secret_item {
    std::string_view key, file;
};
constexpr std::array secret_items{
    secret_item{"ssh-privatekey", "id_ecdsa"},
    secret_item{"id_ecdsa.pub", "id_ecdsa.pub"},
    secret_item{"authorized_keys", "authorized_keys"},
    secret_item{"ssh_host_key", "ssh_host_key"},
    secret_item{"ssh_host_key.pub", "ssh_host_key.pub"},
    secret_item{"known_hosts", "known_hosts"},
    secret_item{config_key, config_key},
};

/// One pair for the clients and one for all hosts: a host is known by its key alone, so that every
/// name of every pod is.
std::vector<key_slot> key_slots() {
    return {
        {"ssh-privatekey", "client", key_form::private_pem, {}},
        {"id_ecdsa.pub", "client", key_form::public_line, {}},
        {"authorized_keys", "client", key_form::public_line, {}},
        {"ssh_host_key", "host", key_form::private_pem, {}},
        {"ssh_host_key.pub", "host", key_form::public_line, {}},
        {"known_hosts", "host", key_form::public_line, "* "},
    };
}

std::string client_config(std::string_view auth_path, std::string_view port) {
    return "Host *\n"
           "IdentityFile " +
           std::string(auth_path) +
           "/id_ecdsa\n"
           "Port " +
           std::string(port) +
           "\n"
           "StrictHostKeyChecking yes\n"
           "UserKnownHostsFile " +
           std::string(auth_path) +
           "/known_hosts\n"
           "ConnectTimeout 10\n"
           "ConnectionAttempts 10\n"
           "ServerAliveInterval 30\n"
           "ServerAliveCountMax 6\n"
           "LogLevel ERROR\n";
}

std::string client_config(const ssh_layout& layout) {
    return client_config(layout.auth_path, std::to_string(layout.port));
}

/// What lies between the two, where they first come in this order; else empty.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
    const std::size_t begin = text.find(before);
    if (begin == text.npos) {
        return {};
    }
    text.remove_prefix(begin + before.size());
    const std::size_t end = text.find(after);
    return end == text.npos ? std::string_view() : text.substr(0, end);
}

/// A file that ssh takes commands from (`ProxyCommand`): only one of this form is ours, for a path
/// and a port of another specification (BEHAVIOUR.md 2.13). Where the form changes, the one that
/// older versions wrote stays here.
bool is_text_of_ours(std::string_view key, std::string_view text) {
    constexpr std::string_view means_something = " \t\r\n\"'%$\\#";
    const std::string_view path = between(text, "IdentityFile ", "/id_ecdsa\n");
    const std::string_view port = between(text, "\nPort ", "\n");
    return key == config_key && path.find_first_of(means_something) == path.npos &&
           read_whole_number(port) && client_config(path, port) == text;
}

/// The annotation, as far as the bootstrap can use it (BEHAVIOUR.md api 1.11).
std::string wait_timeout(const compile_context& ctx) {
    const auto text = ctx.annotation("wait-timeout");
    return read_whole_number(text) || text == "off" ? std::string(text) : "600";
}

std::string settings(
    const compile_context& ctx,
    const ssh_layout& layout,
    const bootstrap_use& use,
    const type_template& source
) {
    const auto yes_no = [](bool b) { return std::string(b ? "yes" : "no"); };
    const std::vector<std::pair<std::string_view, std::string>> values{
        {"run_dir", std::string(run_dir)},
        {"termination_log", source.termination_path()},
        {"ssh_dir", layout.auth_path},
        {"key_dir", std::string(key_dir)},
        {"sshd", layout.sshd_path},
        {"port", std::to_string(layout.port)},
        {"link_config", yes_no(links_config(layout))},
        {"session_env", use.forwards_environment ? "all" : "none"},
        {"env_file", use.env_file},
        {"wait_timeout", wait_timeout(ctx)},
        {"sweep_pattern", use.sweep_pattern},
        {"launcher_sshd", yes_no(use.launcher_sshd)},
        {"same_directory", yes_no(use.same_directory)},
    };
    std::string out;
    for (const auto& [name, value] : values) {
        out += "sb_" + std::string(name) + '=' + shell_word(value) + '\n';
    }
    return out;
}

bool is_identifier(std::string_view name) {
    constexpr std::string_view letters =
        "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    return !name.empty() && name.find_first_not_of(letters) == std::string_view::npos &&
           (name[0] < '0' || name[0] > '9');
}

/// The API server takes 1 MiB per object; long names of many workers would not fit.
void check_hostfile_size(compile_context& ctx) {
    constexpr std::int64_t most = 900'000;
    const std::size_t type = ctx.render.config.host_type;
    const std::int64_t hosts = ctx.spec.elastic ? std::max(ctx.spec.elastic->max_replicas, 1)
                                                : std::max(ctx.plan.types[type].wanted, 1);
    const std::string longest =
        pod_name(ctx.plan, {.type = type, .index = static_cast<std::int32_t>(hosts - 1)});
    const auto line = static_cast<std::int64_t>(
        longest.size() + ctx.plan.base_name.size() + ctx.render.config.host_suffix.size() + 2
    );
    if (line * hosts > most) {
        ctx.error(
            "/metadata/name",
            "The list of " + std::to_string(hosts) +
                " hosts does not fit into a ConfigMap: a shorter name or fewer workers are needed."
        );
    }
}

/// `path` is `directory` or lies below it.
bool is_below(std::string_view path, std::string_view directory) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.remove_suffix(1);
    }
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

void read_layout(ssh_layout& layout, const compile_context& ctx, const type_template& worker) {
    layout.port = usual_port;
    if (worker.host_network()) {
        // Pods of several jobs may share a node there.
        const std::string hash = name_hash(ctx.plan.job_name, ctx.plan.job_uid);
        std::int32_t number = 0;
        std::from_chars(hash.data(), hash.data() + hash.size(), number, 16);
        layout.port = first_host_port + number % host_ports;
    }
    const json::value* user = json::find(worker.container(), "securityContext", "runAsUser");
    if (user == nullptr) {
        user = json::find(worker.document, "spec", "securityContext", "runAsUser");
    }
    if (user != nullptr && user->IsInt64()) {
        layout.user = user->GetInt64();
    }
    const json::value* root =
        json::find(worker.container(), "securityContext", "readOnlyRootFilesystem");
    layout.read_only_root = root != nullptr && root->IsTrue();
}

bool links_config(const ssh_layout& layout) {
    return layout.auth_path != "/root/.ssh";
}

std::string shared_variables(const json::value& container) {
    std::string out;
    const json::value* env = json::find(container, "env");
    const auto of_the_pod = pod_variables(container);
    for (rapidjson::SizeType i = 0; env != nullptr && i < env->Size(); ++i) {
        const auto name = json::string_or_empty((*env)[i], "name");
        if (is_identifier(name) && !of_the_pod.contains(name)) {
            out.append(name).append(1, '\n');
        }
    }
    return out;
}

std::string run_script(const run_needs& needs, const std::vector<std::string>& words) {
    constexpr std::array exports{"none", "some", "all"};
    const auto yes_no = [](bool b) { return b ? "yes\n" : "no\n"; };
    return std::string("sb_need_pdsh=") + yes_no(needs.pdsh) +
           "sb_exports=" + exports[static_cast<std::size_t>(needs.exports)] +
           "\nsb_bare_environment=" + yes_no(needs.bare_environment) +
           "sb_autotune_config=" + shell_word(needs.autotune_config) + '\n' +
           (words.empty() ? std::string() : shell_set(words));
}

void plan_ssh_objects(
    compile_context& ctx,
    const ssh_layout& layout,
    const bootstrap_use& use,
    const type_template& source,
    run_scripts scripts
) {
    planned_object secret;
    secret.kind = object_kind::secret;
    secret.name = ctx.plan.base_name + "-ssh";
    secret.key_slots = key_slots();
    ctx.plan.objects.push_back(std::move(secret));
    ctx.render.secret.type = "kubernetes.io/ssh-auth";
    ctx.render.secret.literals = {{std::string(config_key), client_config(layout)}};
    ctx.render.secret.is_of_ours = is_text_of_ours;

    planned_object config;
    config.kind = object_kind::config_map;
    config.name = ctx.plan.base_name;
    config.name_has_attempt = true;
    ctx.plan.objects.push_back(std::move(config));
    const auto add = [&](std::string name, std::string text) {
        config_file file{std::move(name), {}};
        for (auto& by_size : file.text) {
            by_size.fill(text);
        }
        ctx.render.config.files.push_back(std::move(file));
    };
    check_hostfile_size(ctx);
    add("bootstrap.sh", std::string(bootstrap_script));
    add("settings.sh", settings(ctx, layout, use, source));
    add("env-shared", use.shared_variables);
    ctx.render.config.files.push_back({"run.sh", std::move(scripts)});
}

std::vector<std::string> bootstrap_command(std::string_view role) {
    return {"/bin/sh", std::string(config_dir) + "/bootstrap.sh", std::string(role)};
}

void add_ssh_volumes(
    pod_editor& pod,
    const compile_context& ctx,
    const ssh_layout& layout,
    const std::vector<std::string_view>& hostfiles
) {
    secret_volume secret{.secret = ctx.plan.base_name + "-ssh", .items = {}};
    for (const auto& [key, file] : secret_items) {
        secret.items.emplace_back(key, file);
    }
    pod.add_secret_volume(secret_volume_name, secret);
    pod.add_config_volume(config_volume_name, ctx.plan.base_name + '-');
    pod.add_memory_volume(run_volume_name);
    pod.add_mount({.volume = secret_volume_name, .path = layout.auth_path});
    pod.add_mount({.volume = config_volume_name, .path = std::string(config_dir)});
    pod.add_mount({.volume = run_volume_name, .path = std::string(run_dir), .read_only = false});
    if (layout.user != 0) {
        secret.mode = 0644;  // the bootstrap makes copies that ssh takes
        pod.add_secret_volume(key_volume_name, secret);
        pod.add_mount({.volume = key_volume_name, .path = std::string(key_dir)});
    }
    if (layout.read_only_root && layout.user.value_or(0) == 0) {
        pod.add_mount(
            {.volume = run_volume_name, .path = "/run/sshd", .sub_path = "sshd", .read_only = false}
        );
    }
    for (const auto path : hostfiles) {
        pod.add_mount(
            {.volume = config_volume_name, .path = std::string(path), .sub_path = "hostfile"}
        );
    }
}

void check_ssh_places(
    compile_context& ctx,
    const type_template& source,
    const ssh_layout& layout,
    const std::vector<std::string_view>& hostfiles
) {
    std::vector<std::string_view> ours{layout.auth_path, config_dir, run_dir, key_dir};
    ours.insert(ours.end(), hostfiles.begin(), hostfiles.end());
    if (const json::value* mounts = json::find(source.container(), "volumeMounts")) {
        for (rapidjson::SizeType i = 0; i < mounts->Size(); ++i) {
            const auto path = json::string_or_empty((*mounts)[i], "mountPath");
            for (const auto place : ours) {
                if (is_below(path, place)) {
                    ctx.error(
                        source.container_pointer() + "/volumeMounts/" + std::to_string(i),
                        "The operator mounts " + std::string(place) + "; mount it elsewhere."
                    );
                }
            }
        }
    }
    if (const json::value* volumes = json::find(source.document, "spec", "volumes")) {
        for (rapidjson::SizeType i = 0; i < volumes->Size(); ++i) {
            const auto name = json::string_or_empty((*volumes)[i], "name");
            for (const auto taken :
                 {secret_volume_name, key_volume_name, config_volume_name, run_volume_name}) {
                if (name == taken) {
                    ctx.error(
                        source.pointer + "/spec/volumes/" + std::to_string(i) + "/name",
                        "The operator has a volume named " + std::string(taken) +
                            "; choose another name."
                    );
                }
            }
        }
    }
}

}  // namespace signalbox::core::launch
