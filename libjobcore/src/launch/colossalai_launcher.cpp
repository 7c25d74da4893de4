// SPDX-License-Identifier: Apache-2.0
#include "json/resources.hpp"
#include "launch/colossalai.hpp"
#include "launch/pod_variables.hpp"
#include "launch/quoting.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>

namespace signalbox::core::launch {
namespace {

/// What the launcher's pod takes from the workers' (BEHAVIOUR.md 3.6). Never nodeName: the node is
/// full of accelerators that the launcher does not use.
constexpr std::array copied_pod_fields{
    "nodeSelector",
    "affinity",
    "tolerations",
    "priorityClassName",
    "runtimeClassName",
    "imagePullSecrets",
    "serviceAccountName",
    "serviceAccount",
    "automountServiceAccountToken",
    "schedulerName",
    "securityContext",
};
constexpr std::array copied_container_fields{
    "imagePullPolicy",
    "securityContext",
    "envFrom",
    "terminationMessagePath",
};

// It imports torch (BEHAVIOUR.md 3.6).
constexpr std::string_view launcher_resources =
    R"({"requests":{"cpu":"500m","memory":"2Gi"},"limits":{"cpu":"2","memory":"4Gi"}})";

void copy_member(
    const json::value& from, const char* key, json::value& to, json::allocator& allocator
) {
    if (const json::value* member = json::find(from, key)) {
        to.AddMember(rapidjson::StringRef(key), json::value(*member, allocator), allocator);
    }
}

/// Parses JSON of the job's into the document; false, reported, if it has another form.
bool parse_part(
    compile_context& ctx,
    const std::string& pointer,
    std::string_view text,
    bool (json::value::*has_form)() const,
    json::document& into,
    json::value& part
) {
    json::document parsed(&into.GetAllocator());
    json::parse(parsed, text);
    if (parsed.HasParseError() || !(parsed.*has_form)()) {
        ctx.error(pointer, "The value has not the form that a container has here.");
        return false;
    }
    part = std::move(static_cast<json::value&>(parsed));
    return true;
}

/// The workers' variables below the launcher's own: all of these reach the ranks, as the launcher
/// exports its environment (LAUNCH.md 4.4).
json::value merged_env(
    const json::value& container,
    json::value own,
    const launch_options& options,
    bool has_accelerators,
    json::allocator& a
) {
    json::value env(rapidjson::kArrayType);
    std::set<std::string, std::less<>> names;
    for (const json::value& entry : own.GetArray()) {
        names.emplace(json::string_or_empty(entry, "name"));
    }
    const auto add = [&](std::string_view name, std::string_view text) {
        if (names.emplace(name).second) {
            json::value entry(rapidjson::kObjectType);
            entry.AddMember("name", json::copy_string(name, a), a);
            entry.AddMember("value", json::copy_string(text, a), a);
            env.PushBack(std::move(entry), a);
        }
    };
    if (!has_accelerators) {
        // A CUDA image asks for all GPUs of the node otherwise. Empty ones are not exported.
        add("NVIDIA_VISIBLE_DEVICES", "");
        add("NVIDIA_DRIVER_CAPABILITIES", "");
    }
    for (const auto& [name, text] : options.variables) {
        add(name, text);
    }
    const auto of_the_pod = pod_variables(container);
    if (const json::value* theirs = json::find(container, "env")) {
        for (const auto& entry : theirs->GetArray()) {
            const auto name = json::string_or_empty(entry, "name");
            // Which devices a worker has is its own matter.
            if (name != "CUDA_VISIBLE_DEVICES" && !of_the_pod.contains(name) &&
                names.emplace(name).second) {
                env.PushBack(json::value(entry, a), a);
            }
        }
    }
    for (auto& entry : own.GetArray()) {
        env.PushBack(std::move(entry), a);
    }
    return env;
}

/// The launcher exports values of one line only. Those of the workers' template are set there
/// anyway.
void warn_lines(compile_context& ctx, const std::string& pointer, const json::value& env) {
    for (rapidjson::SizeType i = 0; i < env.Size(); ++i) {
        if (json::string_or_empty(env[i], "value").find('\n') != std::string_view::npos) {
            ctx.warn(
                pointer + '/' + std::to_string(i) + "/value",
                "A value of several lines does not reach the ranks from here: set it in the "
                "workers' template.",
                "FieldIgnored"
            );
        }
    }
}

}  // namespace

launch_options translate(const std::vector<std::string>& torch_args) {
    launch_options out;
    for (std::size_t i = 0; i < torch_args.size(); ++i) {
        std::string_view word = torch_args[i];
        word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
        const auto equals = word.find('=');
        const std::string key(word.substr(0, equals));
        bool has_value = equals != std::string_view::npos;
        std::string text(has_value ? word.substr(equals + 1) : std::string_view());
        if (!has_value && i + 1 < torch_args.size() && !torch_args[i + 1].starts_with('-')) {
            text = torch_args[++i];
            has_value = true;
        }
        const std::string quoted = shell_word(text);
        if (has_value && quoted.find_first_of(",=") != std::string::npos) {
            std::string name = "PET_" + key;
            for (char& c : name) {
                c = c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
            }
            out.variables.emplace_back(std::move(name), std::move(text));
            continue;
        }
        out.extra += (out.extra.empty() ? "" : ",") + key + (has_value ? '=' + quoted : "");
    }
    return out;
}

std::vector<std::string> launcher_line(
    const colossalai_spec& launch,
    const launch_options& options,
    const std::string& hostfile,
    const std::string& master_address,
    const std::vector<std::string>* script_args
) {
    if (launch.command.empty()) {
        return {};
    }
    std::vector<std::string> line{
        "colossalai",
        "run",
        "--hostfile",
        hostfile,
        "--master_addr",
        master_address,
        "--master_port",
        std::to_string(master_port),
        "--nproc_per_node",
        std::to_string(launch.proc_per_worker),
    };
    if (!options.extra.empty()) {
        line.emplace_back("--extra_launch_args");
        line.push_back(options.extra);
    }
    const bool module = launch.command[0] == "-m" && launch.command.size() > 1;
    const std::size_t first_arg = module ? 2 : 1;
    if (module) {
        line.emplace_back("-m");
        line.push_back(shell_word(launch.command[1]));
    }
    // Else options of the script would be read as the launcher's own (LAUNCH.md 4.5).
    line.emplace_back("--");
    if (!module) {
        line.push_back(shell_word(launch.command[0]));
    }
    const auto& args = script_args != nullptr ? *script_args : launch.command;
    for (std::size_t i = script_args != nullptr ? 0 : first_arg; i < args.size(); ++i) {
        line.push_back(shell_word(args[i]));
    }
    return line;
}

std::optional<type_template> make_launcher(
    compile_context& ctx,
    const colossalai_spec& launch,
    const launch_options& options,
    const type_template& worker
) {
    type_template out;
    out.pointer = ctx.spec.replicas.front().pointer;
    json::document& d = out.document;
    auto& a = d.GetAllocator();
    json::value env, resources;
    std::string_view own_env = launch.launcher_env;
    std::string_view own_resources = launch.launcher_resources;
    own_env = own_env.empty() ? "[]" : own_env;
    own_resources = own_resources.empty() ? launcher_resources : own_resources;
    if (!parse_part(ctx, out.pointer + "/env", own_env, &json::value::IsArray, d, env) ||
        !parse_part(
            ctx, out.pointer + "/resources", own_resources, &json::value::IsObject, d, resources
        )) {
        return std::nullopt;
    }
    warn_lines(ctx, out.pointer + "/env", env);
    const json::value& container = worker.container();
    json::value launcher(rapidjson::kObjectType);
    launcher.AddMember("name", "launcher", a);
    const std::string_view image = launch.launcher_image.empty()
                                       ? json::string_or_empty(container, "image")
                                       : std::string_view(launch.launcher_image);
    launcher.AddMember("image", json::copy_string(image, a), a);
    if (!launch.launcher_working_dir.empty()) {
        launcher.AddMember("workingDir", json::copy_string(launch.launcher_working_dir, a), a);
    }
    launcher.AddMember("resources", std::move(resources), a);
    const bool has_accelerators = json::accelerators(launcher) > 0;
    launcher.AddMember(
        "env", merged_env(container, std::move(env), options, has_accelerators, a), a
    );
    for (const char* key : copied_container_fields) {
        copy_member(container, key, launcher, a);
    }
    json::value containers(rapidjson::kArrayType);
    containers.PushBack(std::move(launcher), a);
    json::value spec(rapidjson::kObjectType);
    spec.AddMember("containers", std::move(containers), a);
    // Variables of other Services of the namespace would be exported on every worker.
    spec.AddMember("enableServiceLinks", false, a);
    for (const char* key : copied_pod_fields) {
        copy_member(*json::find(worker.document, "spec"), key, spec, a);
    }
    d.SetObject();
    // What keeps a service mesh out of the workers has to keep it out of the launcher.
    copy_member(worker.document, "metadata", d, a);
    d.AddMember("spec", std::move(spec), a);
    return out;
}

}  // namespace signalbox::core::launch
