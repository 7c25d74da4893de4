// SPDX-License-Identifier: Apache-2.0
#include "commands/stand_ins.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>

#include <string_view>

namespace signalbox::op::cli {

std::string stand_in(core::object_kind kind) {
    const std::string_view version = kind->api_version;
    const std::size_t slash = version.find('/');
    return fmt::format(
        R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
        R"("metadata":{{"name":"{0}.{1}"}},"spec":{{"group":"{1}","scope":"{5}",)"
        R"("names":{{"plural":"{0}","singular":"{3}","kind":"{4}","listKind":"{4}List"}},)"
        R"("versions":[{{"name":"{2}","served":true,"storage":true,"subresources":{{"status":{{}}}},)"
        R"("schema":{{"openAPIV3Schema":{{"type":"object",)"
        R"("x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
        kind->plural,
        version.substr(0, slash),
        version.substr(slash + 1),
        kind->plural.substr(0, kind->plural.size() - 1),
        kind->name,
        kind->use == core::kind_use::reading ? "Cluster" : "Namespaced"
    );
}

std::string missing_priority_classes(const check_result& objects) {
    std::set<std::string> wanted;
    for (const checked_object& o : objects.objects) {
        const auto parsed = o.is_job ? core::parse_job(o.source.json()) : core::parsed_job();
        if (parsed.spec && parsed.spec->scheduler) {
            wanted.emplace(parsed.spec->scheduler->text("workloadPriorityClassName"));
        }
    }
    for (const checked_object& o : objects.objects) {
        if (!o.is_job && o.source.kind() == "WorkloadPriorityClass") {
            wanted.erase(std::string(o.source.name()));
        }
    }
    wanted.erase("");
    std::string out;
    for (const std::string& name : wanted) {
        out += fmt::format(
            "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\n"
            "metadata: {{name: {}}}\nvalue: 0\n",
            name
        );
    }
    return out;
}

std::set<core::object_kind> kinds_of_gangs(const check_result& objects) {
    std::set<core::object_kind> out;
    for (const checked_object& o : objects.objects) {
        const auto parsed = o.is_job ? core::parse_job(o.source.json()) : core::parsed_job();
        if (parsed.spec && parsed.spec->scheduler) {
            const auto kinds = core::kinds_of_scheduler(parsed.spec->scheduler->name);
            out.insert(kinds.begin(), kinds.end());
        }
    }
    return out;
}

}  // namespace signalbox::op::cli
