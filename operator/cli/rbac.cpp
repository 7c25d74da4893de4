// SPDX-License-Identifier: Apache-2.0
//
// `signalbox rbac`: roles for what `signalbox run` does with the same flags.
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/print_line.hpp"
#include "cli/scope.hpp"
#include "roles/permissions.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

namespace signalbox::op::cli {

namespace {

std::string quoted(const std::string& text) {
    return text.empty() ? "\"\"" : text;
}

void print_rule(std::ostream& out, const permission& p) {
    for (std::size_t at = 0; at < p.why.size();) {
        const std::size_t end = std::min(p.why.find('\n', at), p.why.size());
        fmt::print(out, "  # {}\n", std::string_view(p.why).substr(at, end - at));
        at = end + 1;
    }
    fmt::print(out, "  - apiGroups: [{}]\n", quoted(p.group));
    fmt::print(out, "    resources: [{}]\n", fmt::join(p.resources, ", "));
    if (!p.names.empty()) {
        fmt::print(out, "    resourceNames: [{}]\n", fmt::join(p.names, ", "));
    }
    fmt::print(out, "    verbs: [{}]\n", fmt::join(p.verbs, ", "));
}

/// A role and the account that has it. `ns`: of a Role; empty: a ClusterRole.
class role_printer {
public:
    role_printer(std::ostream& out, const rbac_options& options) : out_(&out), options_(&options) {}

    void print(
        const std::string& name, const std::string& ns, const std::vector<permission>& rules
    ) {
        const std::string kind = ns.empty() ? "ClusterRole" : "Role";
        head(kind, name, ns);
        fmt::print(*out_, "rules:\n");
        for (const permission& p : rules) {
            print_rule(*out_, p);
        }
        head(kind + "Binding", name, ns);
        fmt::print(
            *out_,
            "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {}\n  name: {}\n"
            "subjects:\n  - kind: ServiceAccount\n    name: {}\n    namespace: {}\n",
            kind,
            name,
            options_->account,
            options_->account_ns
        );
    }

private:
    void head(const std::string& kind, const std::string& name, const std::string& ns) {
        fmt::print(
            *out_,
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {}\nmetadata:\n  name: {}\n",
            kind,
            name
        );
        if (!ns.empty()) {
            fmt::print(*out_, "  namespace: {}\n", ns);
        }
        fmt::print(*out_, "  labels:\n    app.kubernetes.io/name: signalbox\n");
    }

    std::ostream* out_;
    const rbac_options* options_;
};

std::string json_list(const std::vector<std::string>& items) {
    std::string out = "[";
    for (const std::string& item : items) {
        out += out.size() > 1 ? "," : "";
        core::append_json_string(out, item);
    }
    return out + "]";
}

/// One rule of the list. `feature`: empty if every operator needs it.
std::string json_row(std::string_view feature, const permission& p) {
    std::string rule = fmt::format(
        R"("apiGroups":{},"resources":{},"verbs":{})",
        json_list({p.group}),
        json_list(p.resources),
        json_list(p.verbs)
    );
    if (!p.names.empty()) {
        rule += R"(,"resourceNames":)" + json_list(p.names);
    }
    std::string why;
    core::append_json_string(why, p.why);
    return fmt::format(R"( {{"feature":"{}","rule":{{{}}},"why":{}}})", feature, rule, why);
}

void print_json(
    std::ostream& out,
    const std::vector<permission>& rules,
    const std::vector<permission>& of_cluster,
    const std::vector<permission>& of_election
) {
    std::vector<std::string> rows;
    for (const permission& p : rules) {
        rows.push_back(json_row(p.of ? row_of(*p.of).name : "", p));
    }
    for (const permission& p : of_cluster) {
        rows.push_back(json_row(fmt::format("{}-cluster", row_of(*p.of).name), p));
    }
    for (const permission& p : of_election) {
        rows.push_back(json_row("leader-election", p));
    }
    fmt::print(out, "[\n{}\n]\n", fmt::join(rows, ",\n"));
}

}  // namespace

int rbac(const rbac_options& options, std::ostream& out, std::ostream& err) {
    controller_options wanted;
    if (const auto wrong = read_scope(options.scope, wanted)) {
        print_line(err, "signalbox rbac: {}", *wrong);
        return exit_refused;
    }
    std::vector<permission> rules = job_permissions(wanted.kinds);
    std::vector<permission> of_cluster = cluster_permissions();
    for (std::vector<permission>* all : {&rules, &of_cluster}) {
        std::erase_if(*all, [&](const permission& p) {
            const bool unasked = p.of == feature::logs && !wanted.reads_logs;
            return unasked || (p.of && wanted.without.count(*p.of) != 0);
        });
    }
    const std::vector<permission> of_progress =
        wanted.reviews_tokens ? progress_permissions() : std::vector<permission>();
    const bool several = wanted.reviews_tokens && options.election.wanted;
    const std::vector<permission> of_endpoints =
        several ? endpoint_permissions() : std::vector<permission>();
    std::vector<permission> of_election;
    if (options.election.wanted) {
        of_election = election_permissions(options.election.name);
    }
    if (options.output == output_format::json) {
        rules.insert(rules.end(), of_progress.begin(), of_progress.end());
        rules.insert(rules.end(), of_endpoints.begin(), of_endpoints.end());
        print_json(out, rules, of_cluster, of_election);
        return exit_ok;
    }
    role_printer printer(out, options);
    if (wanted.namespaces.empty()) {
        printer.print(options.name, {}, rules);
    }
    for (const std::string& ns : wanted.namespaces) {
        printer.print(options.name, ns, rules);
    }
    if (!of_cluster.empty()) {
        printer.print(options.name + "-cluster", {}, of_cluster);
    }
    if (!of_progress.empty()) {
        printer.print(options.name + "-progress", {}, of_progress);
    }
    if (!of_endpoints.empty()) {
        printer.print(options.name + "-progress", options.account_ns, of_endpoints);
    }
    if (!of_election.empty()) {
        const std::string& ns = options.election.ns;
        printer.print(
            options.name + "-leader-election", ns.empty() ? options.account_ns : ns, of_election
        );
    }
    return exit_ok;
}

}  // namespace signalbox::op::cli
