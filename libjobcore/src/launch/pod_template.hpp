// SPDX-License-Identifier: Apache-2.0
//
// What the pod sets of all kinds have in common: checking a user's template, naming what of it we
// override, and the edits that turn it into a Pod (BEHAVIOUR.md 3). Everything else in a template
// is passed through, whether this library knows it or not.
#pragma once

#include "gang/scheduler.hpp"
#include "json/json.hpp"
#include "launch/compiler.hpp"
#include "render/program.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::core::launch {

/// True if what we touch in the template has the types that Kubernetes wants; else each place is
/// reported as an error. The other functions here need a template that passed.
bool check_template(
    compile_context& ctx, const replica_spec& replica, const json::value& pod_template
);

/// Reports what of the template we override, whatever the kind (BEHAVIOUR.md 3.2).
void warn_overrides(compile_context& ctx, std::size_t type, const json::value& pod_template);

/// The strings of an array member of a container, null as an empty one; empty if it is absent.
std::vector<std::string> string_list(const json::value& container, std::string_view key);

/// A variable of ours. A gap as value is told by `what`, then `text` is its prefix.
struct env_entry {
    std::string name;
    std::string text;
    std::optional<filling> what = std::nullopt;
};
/// An argument of ours, the same way.
struct argument {
    std::string text;
    std::optional<filling> what = std::nullopt;
};

/// A mount of the training container.
struct volume_mount {
    std::string_view volume;
    std::string path;
    std::string sub_path = {};
    bool read_only = true;
};

/// A volume of a Secret: which keys under which file names.
struct secret_volume {
    std::string secret;
    std::vector<std::pair<std::string, std::string>> items;
    std::int32_t mode = 0600;
};

/// Makes one Pod of a template. Use: construct, edit, build once.
class pod_editor {
public:
    /// `deciding`: of the deciding pod, which has a label that says so.
    pod_editor(
        const compile_context& ctx,
        std::size_t type,
        bool deciding,
        const json::value& pod_template,
        std::size_t training
    );

    const json::value& training() const;

    /// Variables that the container does not have yet, first in its list, in the given order.
    void add_training_env(const std::vector<env_entry>& entries);
    /// The same for every other container, init containers included (BEHAVIOUR.md 3.4).
    void add_other_env(const std::vector<env_entry>& entries);
    void set_command(const std::vector<std::string>& command);
    /// An empty list takes the field away.
    void set_args(const std::vector<argument>& args);
    void set_training_default(std::string_view key, std::string_view text);
    /// Where the training container sees a volume of ours.
    void add_mount(const volume_mount& mount);
    /// The attempt's ConfigMap, named `<prefix><attempt>`.
    void add_config_volume(std::string_view name, std::string prefix);
    void add_secret_volume(std::string_view name, const secret_volume& volume);
    void add_memory_volume(std::string_view name);
    /// Ready when the port takes connections, unless the user says otherwise.
    void add_readiness_probe(std::int32_t port);
    /// For information; none if the user has that number or name.
    void add_port(std::string_view name, std::int32_t number);
    bool host_network() const;
    /// `/dev/shm` in memory, unless the user mounts something there (BEHAVIOUR.md 3.7).
    void add_shared_memory();
    void drop_init_containers();

    program build();

private:
    json::value text(std::string_view s) { return json::copy_string(s, document_.GetAllocator()); }
    json::value gap_or_text(const std::optional<filling>& what, const std::string& s);
    json::value& container();
    void add_env(json::value& container, const std::vector<env_entry>& entries);
    void add_volume(std::string_view name, std::string_view kind, json::value source);
    json::value labels();
    json::value annotations();
    void add_gates(std::span<const std::string_view> names);
    json::value value_of(const gang::field_value& value);
    json::value metadata();
    void finish_spec();

    const compile_context* ctx_;
    const type_plan* type_;
    std::size_t type_number_;
    bool deciding_;
    std::size_t training_;
    program_builder gaps_;
    json::document document_;  // the edited copy of the template
};

}  // namespace signalbox::core::launch
