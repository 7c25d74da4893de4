// SPDX-License-Identifier: Apache-2.0
//
// What a kubelet reads of a Pod.
#pragma once

#include <jobcore/time.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::op::kubelet {

using string_map = std::map<std::string, std::string>;
/// Ids of accelerators, by container.
using device_map = std::map<std::string, std::string>;

/// One entry of `env`.
struct env_entry {
    enum class source {
        value,       ///< `text`
        config_map,  ///< key `key` of the ConfigMap `text`
        secret,      ///< key `key` of the Secret `text`
        field,       ///< the pod's field `text`
        resource,    ///< the resource `text` of a container, divided by `key`
    };
    std::string name;
    source from = source::value;
    std::string text, key;
    std::string container;  ///< resource: whose; empty: the container's own
    bool optional = false;
};

/// One entry of `envFrom`.
struct env_from {
    bool secret = false;
    std::string name, prefix;
    bool optional = false;
};

struct volume_mount {
    std::string volume, path;
    std::string sub_path, sub_path_expr;
    bool read_only = false;
};

/// What a probe or a lifecycle hook does.
struct handler {
    enum class kind { none, exec, http, tcp, sleep, unknown };
    kind what = kind::none;
    std::vector<std::string> command;
    std::string host, path, scheme;
    std::string port;  ///< number, or the name of a container port
    std::vector<std::pair<std::string, std::string>> headers;
    std::chrono::seconds duration{0};  ///< sleep
};

struct probe {
    handler how;
    std::chrono::seconds initial_delay{0}, period{10}, timeout{1};
    int successes = 1, failures = 3;            ///< in a row
    std::optional<std::chrono::seconds> grace;  ///< of the container that is killed for it
};

struct security {
    std::optional<std::int64_t> user, group;
    bool non_root = false;
    bool read_only_root = false;
    bool may_gain = true;            ///< rights, by programs with set-user-id, for example
    bool bounded_calls = false;      ///< only usual system calls (seccompProfile RuntimeDefault)
    std::uint64_t capabilities = 0;  ///< that root has there, by bits
    std::vector<std::string> unmet;  ///< what is asked for and has no effect here
};

struct container_spec {
    std::string name, image;
    bool init = false;     ///< one of `initContainers`
    bool sidecar = false;  ///< of them, one with `restartPolicy: Always`
    std::vector<std::string> command, args;
    std::string working_dir;
    std::vector<env_entry> env;
    std::vector<env_from> env_from_objects;
    std::vector<volume_mount> mounts;
    std::vector<std::pair<std::string, std::int32_t>> ports;
    std::vector<std::string> host_ports;  ///< of the node that it wants alone, e.g. `TCP 80`
    std::optional<probe> startup, readiness, liveness;
    handler post_start, pre_stop;
    security rights;
    string_map limits, requests;  ///< quantities as they are written
    std::string termination_path = "/dev/termination-log";
    bool message_from_log = false;  ///< `terminationMessagePolicy: FallbackToLogsOnError`
    bool terminal = false, input = false;
};

/// A path in a volume, and where its content comes from.
struct volume_item {
    std::string key;   ///< of ConfigMap or Secret
    std::string path;  ///< below the volume
    std::optional<std::uint32_t> mode;
    env_entry from;  ///< downward API: a field or a resource
};

/// What one part of a volume of files is made of.
struct file_source {
    enum class kind { config_map, secret, downward, token };
    kind what = kind::config_map;
    std::string name;                ///< of ConfigMap or Secret
    std::vector<volume_item> items;  ///< empty: all keys
    std::string audience;            ///< of a token; empty: the API server's own
    bool optional = false;
};

struct volume_spec {
    enum class kind { empty, memory, files, host_path, claim, unknown };
    std::string name;
    kind what = kind::unknown;
    std::vector<file_source> files;  ///< one, or those of `projected`
    std::uint32_t default_mode = 0644;
    std::string path;              ///< host_path: on the machine; claim: its name; unknown: type
    std::string type;              ///< host_path
    std::uint64_t size_limit = 0;  ///< memory: bytes; 0: none
    bool read_only = false;        ///< claim
};

struct dns_config {
    std::vector<std::string> servers, searches, options;
};

struct host_alias {
    std::string address;
    std::vector<std::string> names;
};

/// What the status says of a container; for pods that another process of ours has started.
struct former_container {
    std::string name;
    int restarts = 0;
    enum class state { waiting, running, terminated };
    state was = state::waiting;
    int exit_code = 0;
};

enum class restart_policy { always, on_failure, never };

struct pod_spec {
    std::string ns, name, uid, resource_version;
    string_map labels, annotations;
    bool deleting = false;
    std::string node;  ///< empty: not bound yet
    std::string phase, address;
    bool ready = false;
    std::optional<core::instant> started;  ///< what the status tells, perhaps of another process
    std::vector<former_container> former;
    std::vector<container_spec> containers;  ///< init containers first, in their order
    std::vector<volume_spec> volumes;
    restart_policy restart = restart_policy::always;
    std::chrono::seconds grace{30};  ///< of the deletion under way, else of the spec
    std::optional<std::chrono::seconds> deadline;
    std::string hostname, subdomain;
    bool fqdn_as_hostname = false;
    bool host_network = false;
    bool own_users = false;  ///< `hostUsers: false`
    bool service_links = true;
    std::string dns_policy = "ClusterFirst";
    dns_config dns;
    std::vector<host_alias> aliases;
    std::string service_account;
    std::optional<std::int64_t> fs_group;
    std::vector<std::int64_t> groups;
    security rights;  ///< of the pod
    std::string scheduler;
    std::vector<std::string> gates;  ///< `schedulingGates`: not to be bound while there is one
    string_map node_selector;
};

/// Nothing if the text is no Pod with name and UID.
std::optional<pod_spec> read_pod_spec(std::string_view json);

/// Name of the pod's host: `spec.hostname`, else its name, at most 63 bytes.
std::string host_name_of(const pod_spec& pod);
/// With the subdomain and the cluster's domain; empty without a subdomain.
std::string full_name_of(const pod_spec& pod);

}  // namespace signalbox::op::kubelet
