// SPDX-License-Identifier: Apache-2.0
//
// What a pod template must have for us to use it (BEHAVIOUR.md api 1.10). Everything
// else in it the API server checks when the pod is created.
#include "api/rules/rules.hpp"
#include "api/walk/text.hpp"
#include "json/training.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::core::schema {
namespace {

/// Reports findings inside one template.
class template_checker {
public:
    template_checker(
        const node& pod_template, const template_rules& rules, findings_collector& findings
    )
        : template_(pod_template), rules_(rules), findings_(findings) {}

    void check_pod(const json::value& spec);
    bool check_containers(const json::value* containers);
    void check_training(const json::value& container, std::size_t index);
    void check_name(std::string_view name, std::size_t index);
    void check_args(const json::value& container, std::size_t index);
    void check_mounts(const json::value& container, std::size_t index);
    void error(std::string_view path, std::string message) {
        findings_.error(
            template_.order, fmt::format("{}/{}", template_.pointer, path), std::move(message)
        );
    }

private:
    void warn(std::string_view path, std::string message, std::string_view reason) {
        findings_.warning(
            template_.order,
            fmt::format("{}/{}", template_.pointer, path),
            std::move(message),
            reason
        );
    }

    const node& template_;
    const template_rules& rules_;
    findings_collector& findings_;
};

void template_checker::check_pod(const json::value& spec) {
    const json::value* fqdn = json::find(spec, "setHostnameAsFQDN");
    if (fqdn != nullptr && fqdn->IsTrue()) {
        error(
            "spec/setHostnameAsFQDN",
            "`setHostnameAsFQDN` must not be true: launchers rely on the short hostname"
        );
    }
    const json::value* restart = json::find(spec, "restartPolicy");
    if (restart != nullptr && !(restart->IsString() && json::view(*restart) == "Never")) {
        warn(
            "spec/restartPolicy",
            fmt::format(
                "the pods' `restartPolicy` is always Never, not {}; the operator makes new pods "
                "where the job may restart",
                describe(*restart)
            ),
            field_overridden
        );
    }
    const json::value* host_network = json::find(spec, "hostNetwork");
    if (host_network != nullptr && host_network->IsTrue() &&
        json::string_or_empty(spec, "dnsPolicy") == "ClusterFirst") {
        warn(
            "spec/dnsPolicy",
            "with `hostNetwork` this policy is that of the node, which does not know the names of "
            "pods and Services: leave it out, or write ClusterFirstWithHostNet",
            spec_warning
        );
    }
}

bool template_checker::check_containers(const json::value* containers) {
    if (containers == nullptr || !containers->IsArray() || containers->Empty()) {
        error(
            "spec/containers",
            containers == nullptr || containers->IsArray()
                ? "the template needs at least one container in `spec.containers`"
                : "`containers` must be a list of objects, not " + describe(*containers)
        );
        return false;
    }
    bool good = true;
    for (rapidjson::SizeType i = 0; i < containers->Size(); ++i) {
        const json::value& container = (*containers)[i];
        const bool named = !json::string_or_empty(container, "name").empty();
        good = good && container.IsObject();
        if (named || findings_.count_if_full(severity::error)) {
            continue;
        }
        if (!container.IsObject()) {
            error(
                fmt::format("spec/containers/{}", i),
                fmt::format("`containers[{}]` must be an object, not {}", i, describe(container))
            );
        } else {
            error(fmt::format("spec/containers/{}/name", i), "the container needs a `name`");
        }
    }
    return good;
}

void template_checker::check_name(std::string_view name, std::size_t index) {
    const auto& names = rules_.training_names;
    if (rules_.wants_name && std::find(names.begin(), names.end(), name) == names.end()) {
        warn(
            fmt::format("spec/containers/{}/name", index),
            fmt::format(
                "no container is named {}; {} is taken for it", enumerate(names, "or"), quoted(name)
            ),
            spec_warning
        );
    }
}

void template_checker::check_args(const json::value& container, std::size_t index) {
    const json::value* written = json::find(container, "args");
    if (rules_.needs_args && (written == nullptr || !written->IsArray() || written->Empty())) {
        error(
            fmt::format("spec/containers/{}/args", index),
            fmt::format(
                "the training container {} needs `args`, the training script and its arguments: "
                "torchrun is the command",
                quoted(json::string_or_empty(container, "name"))
            )
        );
    }
}

/// The path without empty parts, `.` and `..`: other spellings of a path mean the same.
std::string normalized(std::string_view path) {
    std::string out;
    while (!path.empty()) {
        const auto slash = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, slash);
        path.remove_prefix(std::min(slash + 1, path.size()));
        if (part == "..") {
            out.resize(std::min(out.rfind('/'), out.size()));
        } else if (!part.empty() && part != ".") {
            out += '/';
            out += part;
        }
    }
    return out;
}

void template_checker::check_mounts(const json::value& container, std::size_t index) {
    const json::value* mounts = json::find(container, "volumeMounts");
    if (rules_.reserved_paths.empty() || mounts == nullptr || !mounts->IsArray()) {
        return;
    }
    for (rapidjson::SizeType i = 0; i < mounts->Size(); ++i) {
        const std::string_view written = json::string_or_empty((*mounts)[i], "mountPath");
        const std::string path = normalized(written) + '/';
        for (const std::string_view reserved : rules_.reserved_paths) {
            if (path.starts_with(std::string(reserved) + '/') &&
                !findings_.count_if_full(severity::error)) {
                error(
                    fmt::format("spec/containers/{}/volumeMounts/{}/mountPath", index, i),
                    fmt::format(
                        "`mountPath` must not be {}: the operator mounts its own files at {}",
                        quoted(written),
                        reserved
                    )
                );
            }
        }
    }
}

void template_checker::check_training(const json::value& container, std::size_t index) {
    const std::string_view name = json::string_or_empty(container, "name");
    if (json::string_or_empty(container, "image").empty()) {
        const json::value* written = json::find(container, "image");
        error(
            fmt::format("spec/containers/{}/image", index),
            fmt::format(
                "the training container {} needs an `image`{}",
                quoted(name),
                written == nullptr || written->IsString()
                    ? ""
                    : ", a string and not " + describe(*written)
            )
        );
    }
    check_name(name, index);
    check_args(container, index);
    check_mounts(container, index);
}

}  // namespace

const json::value* training_container(
    const json::value& pod_template, std::span<const std::string_view> names, std::size_t& index
) {
    const auto choice = json::choose_training(pod_template, names);
    if (!choice) {
        return nullptr;
    }
    index = choice->index;
    return &(*json::find(pod_template, "spec", "containers")
    )[static_cast<rapidjson::SizeType>(index)];
}

void check_template(
    const node& pod_template, const template_rules& rules, findings_collector& findings
) {
    if (!pod_template.present()) {
        return;
    }
    template_checker checker(pod_template, rules, findings);
    const json::value* spec = json::find(*pod_template.value, "spec");
    if (spec == nullptr || !spec->IsObject()) {
        checker.error(
            "spec",
            spec == nullptr ? "the template needs a `spec` with at least one container"
                            : "`spec` must be an object, not " + describe(*spec)
        );
        return;
    }
    checker.check_pod(*spec);
    warn_references(pod_template, findings);
    if (checker.check_containers(json::find(*spec, "containers"))) {
        const auto choice = json::choose_training(*pod_template.value, rules.training_names);
        // What the compiler says of several is enough (BEHAVIOUR.md api 1.13).
        if (choice->certain) {
            const json::value& containers = *json::find(*spec, "containers");
            checker.check_training(
                containers[static_cast<rapidjson::SizeType>(choice->index)], choice->index
            );
        }
    }
}

}  // namespace signalbox::core::schema
