// SPDX-License-Identifier: Apache-2.0
//
// kubeconfig files (REQUIREMENTS.md C4-C6, C8). Inside this unit errors are exceptions, as
// yaml-cpp's are; load_kubeconfig turns them into values.
#include "client/files.hpp"
#include "client/impersonation.hpp"
#include "client/proxy.hpp"
#include "client/server_url.hpp"
#include "k8sio/base64.hpp"
#include "k8sio/config.hpp"
#include "protocol/exec_credential.hpp"
#include "protocol/json_cursor.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <map>
#include <stdexcept>

namespace signalbox::k8sio {

namespace {

/// One named entry and the file it is from: relative paths are relative to that.
struct entry {
    std::string file;
    std::string where;  // `user "x"`, for messages
    YAML::Node body;

    [[noreturn]] void fail(std::string_view field, std::string_view message) const {
        throw std::runtime_error(fmt::format("{}: {}: {}: {}", file, where, field, message));
    }
    std::string text(const char* field) const {
        if (!body.IsMap() || !body[field] || body[field].IsNull()) {
            return {};
        }
        if (!body[field].IsScalar()) {
            fail(field, "is no text");
        }
        return body[field].Scalar();
    }
    bool has(const char* field) const {
        return body.IsMap() && body[field] && !body[field].IsNull() &&
               !(body[field].IsScalar() && body[field].Scalar().empty());
    }
    std::vector<std::string> texts(const char* field) const {
        std::vector<std::string> out;
        if (!has(field)) {
            return out;
        }
        if (!body[field].IsSequence()) {
            fail(field, "is no list");
        }
        for (const YAML::Node& each : body[field]) {
            if (!each.IsScalar()) {
                fail(field, "has an entry that is no text");
            }
            out.push_back(each.Scalar());
        }
        return out;
    }
    bool flag(const char* field) const {
        const std::string value = text(field);
        if (!value.empty() && value != "true" && value != "false") {
            fail(field, "is neither true nor false");
        }
        return value == "true";
    }
    std::string path(const char* field) const {
        const std::string value = text(field);
        const std::size_t folder_end = file.rfind('/');
        const bool relative = !value.empty() && value.front() != '/';
        return relative && folder_end != std::string::npos ? file.substr(0, folder_end + 1) + value
                                                           : value;
    }
    /// The path of the file that content() reads; empty: none.
    std::string content_path(const std::string& field) const {
        return has((field + "-data").c_str()) ? "" : path(field.c_str());
    }
    /// `field-data` (base64) wins over the file named by `field`.
    std::string content(const std::string& field) const {
        const std::string inline_field = field + "-data";
        if (has(inline_field.c_str())) {
            const auto bytes = base64_decode(text(inline_field.c_str()));
            if (!bytes) {
                fail(inline_field, "is not base64");
            }
            return *bytes;
        }
        if (!has(field.c_str())) {
            return {};
        }
        const std::string name = path(field.c_str());
        const auto bytes = read_whole_file(name);
        if (!bytes) {
            fail(field, "cannot read " + name);
        }
        return *bytes;
    }
};

using entries = std::map<std::string, entry>;

/// All files together; the first definition of a name wins.
struct merged_files {
    entries clusters, users, contexts;
    std::string current_context;
    std::string names;  // of the files, for messages
};

void add_entries(
    const std::string& file,
    const YAML::Node& root,
    const char* list,
    const char* kind,
    entries& out
) {
    const YAML::Node items = root[list];
    if (!items || items.IsNull()) {
        return;
    }
    if (!items.IsSequence()) {
        throw std::runtime_error(fmt::format("{}: {}: is no list", file, list));
    }
    entries here;
    for (const YAML::Node& item : items) {
        if (!item.IsMap() || !item["name"] || !item["name"].IsScalar()) {
            throw std::runtime_error(fmt::format("{}: {}: an entry has no name", file, list));
        }
        const std::string name = item["name"].Scalar();
        const YAML::Node body = item[kind] ? YAML::Node(item[kind]) : YAML::Node();
        entry made{file, fmt::format("{} \"{}\"", kind, name), body};
        if (!here.emplace(name, made).second) {
            made.fail("name", "is used twice");  // as kubectl has it: which one is meant?
        }
    }
    out.merge(here);
}

void add_file(const std::string& file, const std::string& text, merged_files& out) {
    YAML::Node root;
    try {
        root = YAML::Load(text);
    } catch (const YAML::Exception& error) {
        throw std::runtime_error(fmt::format("{}: {}", file, error.what()));
    }
    out.names += out.names.empty() ? file : ", " + file;
    if (root.IsNull()) {
        return;
    }
    if (!root.IsMap()) {
        throw std::runtime_error(file + ": is no kubeconfig");
    }
    add_entries(file, root, "clusters", "cluster", out.clusters);
    add_entries(file, root, "users", "user", out.users);
    add_entries(file, root, "contexts", "context", out.contexts);
    const YAML::Node current = root["current-context"];
    if (out.current_context.empty() && current && current.IsScalar()) {
        out.current_context = current.Scalar();
    }
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): while starting
    return value == nullptr ? "" : value;
}

merged_files read_files(const std::string& path) {
    merged_files merged;
    std::string list = path;
    if (path.empty()) {
        list = environment("KUBECONFIG");
    }
    if (list.empty()) {
        list = environment("HOME") + "/.kube/config";
    }
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end =
            path.empty() ? std::min(list.find(':', at), list.size()) : list.size();
        const std::string file = list.substr(at, end - at);
        const auto text = file.empty() ? std::nullopt : read_whole_file(file);
        if (text) {
            add_file(file, *text, merged);
        }
        at = end + 1;
    }
    if (merged.names.empty()) {
        throw std::runtime_error("cannot read a kubeconfig from " + list);
    }
    return merged;
}

const entry& find(
    const merged_files& files,
    const entries& among,
    const char* kind,
    const std::string& name,
    const std::string& wanted_by
) {
    const auto found = among.find(name);
    if (found == among.end()) {
        throw std::runtime_error(
            fmt::format("{}: {} \"{}\" ({}) does not exist", files.names, kind, name, wanted_by)
        );
    }
    return found->second;
}

void read_cluster(const entry& cluster, cluster_config& config) {
    const std::string server = cluster.text("server");
    const std::string wrong = read_server_url(server, config);
    if (!wrong.empty()) {
        cluster.fail("server", fmt::format("'{}' {}", server, wrong));
    }
    if (cluster.has("proxy-url")) {
        const std::string wrong_proxy = read_proxy_url(cluster.text("proxy-url"), config.proxy);
        if (!wrong_proxy.empty()) {
            cluster.fail("proxy-url", wrong_proxy);
        }
    } else {
        const std::string wrong_proxy = use_proxy_of_environment(config, environment);
        if (!wrong_proxy.empty()) {
            throw std::runtime_error(wrong_proxy);
        }
    }
    config.ca_pem = cluster.content("certificate-authority");
    config.ca_file = cluster.content_path("certificate-authority");
    config.insecure_skip_tls_verify = cluster.flag("insecure-skip-tls-verify");
    config.tls_server_name = cluster.text("tls-server-name");
    if (config.insecure_skip_tls_verify && !config.ca_pem.empty()) {
        cluster.fail("insecure-skip-tls-verify", "excludes a certificate-authority");
    }
}

/// A value of YAML as JSON: what has quotes or a tag is a text.
void append_json(std::string& out, const YAML::Node& node) {
    if (node.IsMap()) {
        out += '{';
        for (const auto& member : node) {
            out += out.back() == '{' ? "" : ",";
            protocol::append_json_string(out, member.first.Scalar());
            out += ':';
            append_json(out, member.second);
        }
        out += '}';
    } else if (node.IsSequence()) {
        out += '[';
        for (const YAML::Node& item : node) {
            out += out.back() == '[' ? "" : ",";
            append_json(out, item);
        }
        out += ']';
    } else if (!node.IsScalar()) {
        out += "null";
    } else {
        const std::string& text = node.Scalar();
        if (node.Tag() == "?" && protocol::is_json_scalar(text)) {
            out += text;
        } else {
            protocol::append_json_string(out, text);
        }
    }
}

constexpr const char* exec_group = "client.authentication.k8s.io/";

/// What the cluster says to credential programs, as JSON; empty: nothing.
std::string exec_cluster_config(const entry& cluster) {
    std::string out;
    if (!cluster.has("extensions") || !cluster.body["extensions"].IsSequence()) {
        return out;
    }
    for (const YAML::Node& each : cluster.body["extensions"]) {
        if (each.IsMap() && each["name"] && each["name"].IsScalar() && each["extension"] &&
            each["name"].Scalar() == std::string(exec_group) + "exec") {
            append_json(out, each["extension"]);
            break;
        }
    }
    return out;
}

/// `exec` of a user (C7).
exec_plugin read_exec(const entry& user, const entry& cluster, const cluster_config& config) {
    entry exec{user.file, user.where + ": exec", user.body["exec"]};
    if (!exec.body.IsMap()) {
        user.fail("exec", "is no map");
    }
    exec_plugin plugin;
    plugin.api_version = exec.text("apiVersion");
    const bool v1 = plugin.api_version == std::string(exec_group) + "v1";
    if (!v1 && plugin.api_version != std::string(exec_group) + "v1beta1") {
        exec.fail(
            "apiVersion",
            fmt::format(
                "'{}' is neither {}v1 nor {}v1beta1", plugin.api_version, exec_group, exec_group
            )
        );
    }
    plugin.command = exec.text("command");
    if (plugin.command.empty()) {
        exec.fail("command", "is not set");
    }
    if (plugin.command.find('/') != std::string::npos) {
        plugin.command = exec.path("command");
    }
    plugin.args = exec.texts("args");
    if (exec.has("env")) {
        if (!exec.body["env"].IsSequence()) {
            exec.fail("env", "is no list");
        }
        for (const YAML::Node& each : exec.body["env"]) {
            const entry variable{exec.file, exec.where + ": env", each};
            const std::string name = variable.text("name");
            if (name.empty() || name.find('=') != std::string::npos) {
                exec.fail("env", "an entry has no name, or one with '='");
            }
            plugin.env.emplace_back(name, variable.text("value"));
        }
    }
    plugin.install_hint = exec.text("installHint");
    const std::string mode = exec.text("interactiveMode");
    if (mode == "Always") {
        exec.fail("interactiveMode", "Always: credential plugins are run without a terminal");
    }
    if (mode != "Never" && mode != "IfAvailable" && (v1 || !mode.empty())) {
        exec.fail("interactiveMode", fmt::format("'{}' is not Never, IfAvailable or Always", mode));
    }
    const bool tell = exec.flag("provideClusterInfo");
    plugin.info = protocol::exec_info(
        plugin.api_version,
        tell ? &config : nullptr,
        cluster.text("server"),
        tell ? exec_cluster_config(cluster) : ""
    );
    return plugin;
}

/// `as`, `as-uid`, `as-groups`, `as-user-extra` of a user (C5).
void read_impersonation(const entry& user, impersonation& as) {
    as.user = user.text("as");
    as.uid = user.text("as-uid");
    as.groups = user.texts("as-groups");
    if (user.has("as-user-extra")) {
        if (!user.body["as-user-extra"].IsMap()) {
            user.fail("as-user-extra", "is no map");
        }
        const entry extra{user.file, user.where + ": as-user-extra", user.body["as-user-extra"]};
        for (const auto& member : user.body["as-user-extra"]) {
            const std::string key = member.first.Scalar();
            as.extra.emplace_back(key, extra.texts(key.c_str()));
        }
    }
    const std::string wrong = check_impersonation(as);
    if (!wrong.empty()) {
        user.fail("as", wrong);
    }
}

void read_user(const entry& user, const entry& cluster, cluster_config& config) {
    if (user.has("auth-provider")) {
        user.fail("auth-provider", "is not supported, nor by Kubernetes since 1.26; use exec");
    }
    read_impersonation(user, config.as);
    config.client_cert_pem = user.content("client-certificate");
    config.client_key_pem = secret_text(user.content("client-key"));
    config.client_cert_file = user.content_path("client-certificate");
    config.client_key_file = user.content_path("client-key");
    if (config.client_cert_pem.empty() != config.client_key_pem.empty()) {
        user.fail("client-certificate", "needs client-key, and the reverse");
    }
    config.token = secret_text(user.text("token"));
    config.token_file = user.path("tokenFile");
    if (!config.token_file.empty() && !read_whole_file(config.token_file)) {
        user.fail("tokenFile", "cannot read " + config.token_file);
    }
    config.username = user.text("username");
    config.password = secret_text(user.text("password"));
    if (user.has("exec")) {
        config.exec = read_exec(user, cluster, config);
    }
}

cluster_config build(const merged_files& files, const std::string& wanted) {
    const std::string name = wanted.empty() ? files.current_context : wanted;
    if (name.empty()) {
        throw std::runtime_error(files.names + ": current-context: is not set");
    }
    const std::string asked = wanted.empty() ? "current-context" : "asked for";
    const entry& context = find(files, files.contexts, "context", name, asked);
    const std::string cluster = context.text("cluster");
    if (cluster.empty()) {
        context.fail("cluster", "is not set");
    }
    cluster_config config;
    const entry& to = find(files, files.clusters, "cluster", cluster, context.where);
    read_cluster(to, config);
    const std::string user = context.text("user");
    if (!user.empty() && config.scheme == "https") {  // else C9: anybody could read them
        read_user(find(files, files.users, "user", user, context.where), to, config);
    }
    if (context.has("namespace")) {
        config.ns = context.text("namespace");
    }
    return config;
}

}  // namespace

result<cluster_config> load_kubeconfig(const std::string& path, const std::string& context) {
    try {
        return build(read_files(path), context);
    } catch (const std::exception& failure) {
        return make_error(errc::invalid_argument, std::string("kubeconfig ") + failure.what());
    }
}

}  // namespace signalbox::k8sio
