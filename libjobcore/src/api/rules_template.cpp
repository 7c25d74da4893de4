// SPDX-License-Identifier: Apache-2.0
//
// What a pod template must have for us to use it (api.md 1, Pod templates). Everything else in it
// is the API server's to judge when the pod is created.
#include "api/rules.hpp"
#include "api/text.hpp"

#include <fmt/format.h>

namespace signalbox::core::schema {
namespace {

/// Reports findings inside one template.
class template_checker {
public:
    template_checker(const node& pod_template, findings_collector& findings)
        : template_(pod_template), findings_(findings) {}

    void check_pod(const json::value& spec);
    bool check_containers(const json::value* containers);
    void check_training(const json::value& container, std::size_t index, arguments args);
    void error(std::string_view path, std::string message) {
        findings_.error(
            template_.order, fmt::format("{}/{}", template_.pointer, path), std::move(message)
        );
    }

private:
    const node& template_;
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
        findings_.warning(
            template_.order,
            template_.pointer + "/spec/restartPolicy",
            fmt::format(
                "the pods' `restartPolicy` is always Never, not {}; "
                "`restartPolicy` beside `template` decides about restarts",
                describe(*restart)
            ),
            field_overridden
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

void template_checker::check_training(
    const json::value& container, std::size_t index, arguments args
) {
    const std::string_view name = json::string_or_empty(container, "name");
    if (json::string_or_empty(container, "image").empty()) {
        error(
            fmt::format("spec/containers/{}/image", index),
            fmt::format("the training container {} needs an `image`", quoted(name))
        );
    }
    if (args == arguments::free) {
        return;
    }
    const json::value* written = json::find(container, "args");
    if (written == nullptr || !written->IsArray() || written->Empty()) {
        error(
            fmt::format("spec/containers/{}/args", index),
            fmt::format(
                "the training container {} needs `args`, the training script and its arguments: "
                "torchrun is the command",
                quoted(name)
            )
        );
    }
}

}  // namespace

const json::value* training_container(
    const json::value& pod_template, std::span<const std::string_view> names, std::size_t& index
) {
    const json::value* containers = json::find(pod_template, "spec", "containers");
    if (containers == nullptr || !containers->IsArray() || containers->Empty()) {
        return nullptr;
    }
    for (const std::string_view name : names) {
        for (rapidjson::SizeType i = 0; i < containers->Size(); ++i) {
            if (json::string_or_empty((*containers)[i], "name") == name) {
                index = i;
                return &(*containers)[i];
            }
        }
    }
    index = 0;
    return &(*containers)[0];
}

void check_template(
    const node& pod_template,
    std::span<const std::string_view> names,
    arguments args,
    findings_collector& findings
) {
    if (!pod_template.present()) {
        return;
    }
    template_checker checker(pod_template, findings);
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
    if (checker.check_containers(json::find(*spec, "containers"))) {
        std::size_t index = 0;
        const json::value* container = training_container(*pod_template.value, names, index);
        checker.check_training(*container, index, args);
    }
}

}  // namespace signalbox::core::schema
