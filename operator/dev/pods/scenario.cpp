// SPDX-License-Identifier: Apache-2.0
#include "pods/scenario.hpp"

#include "manifests/manifest.hpp"
#include "manifests/reader.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

namespace signalbox::op::pods {

namespace {

using manifests::child;
using manifests::node_kind;
using manifests::position;
using manifests::tree;

bool glob(const std::string& pattern, const std::string& text) {
    return pattern.empty() || ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool in(const std::optional<core::index_set>& set, std::int32_t value) {
    return !set || set->contains(value);
}

/// Reads the tree; the first mistake ends it.
class scenario_reader {
public:
    explicit scenario_reader(const tree& document) : document_(document) {}

    std::optional<scenario> read() {
        scenario out;
        for (const child& c : children(document_.root(), node_kind::mapping, "a scenario")) {
            if (c.key == "defaults") {
                out.defaults = read_settings(c);
            } else if (c.key == "rules") {
                for (const child& item : children(c.node, node_kind::sequence, "`rules`")) {
                    out.rules.push_back(read_rule(item));
                }
            } else {
                fail(c.where, fmt::format("unknown key `{}`: `defaults` or `rules`", c.key));
            }
        }
        if (failed_) {
            return std::nullopt;
        }
        return out;
    }

    position where() const { return where_; }
    const std::string& message() const { return message_; }

private:
    const std::vector<child>& children(
        manifests::node_id id, node_kind kind, std::string_view what
    ) {
        static const std::vector<child> none;
        const manifests::node& n = document_.at(id);
        if (n.kind != kind) {
            const char* wanted = kind == node_kind::mapping ? "a mapping" : "a list";
            fail(n.where, fmt::format("{} must be {}", what, wanted));
            return none;
        }
        return n.children;
    }

    std::string text(const child& c) {
        const manifests::node& n = document_.at(c.node);
        if (n.kind != node_kind::scalar && n.kind != node_kind::string) {
            fail(c.where, fmt::format("`{}` must be a plain value", c.key));
        }
        return n.text;
    }

    settings read_settings(const child& of) {
        settings out;
        for (const child& c : children(of.node, node_kind::mapping, fmt::format("`{}`", of.key))) {
            std::string value = text(c);
            behaviour probe;
            if (const auto wrong = set(probe, c.key, value)) {
                fail(c.where, *wrong);
            }
            out.emplace_back(c.key, std::move(value));
        }
        return out;
    }

    rule read_rule(const child& item) {
        rule out;
        for (const child& c : children(item.node, node_kind::mapping, "a rule")) {
            if (c.key == "match") {
                for (const child& m : children(c.node, node_kind::mapping, "`match`")) {
                    read_match(m, out);
                }
            } else if (c.key == "do") {
                out.does = read_settings(c);
            } else {
                fail(c.where, fmt::format("unknown key `{}`: `match` or `do`", c.key));
            }
        }
        return out;
    }

    void read_match(const child& c, rule& out) {
        const std::string value = text(c);
        for (const auto& [key, field] :
             {std::pair{"job", &rule::job},
              {"namespace", &rule::ns},
              {"type", &rule::type},
              {"pod", &rule::pod}}) {
            if (c.key == key) {
                out.*field = value;
                return;
            }
        }
        for (const auto& [key, field] :
             {std::pair{"index", &rule::index},
              {"attempt", &rule::attempt},
              {"round", &rule::round},
              {"nth", &rule::nth}}) {
            if (c.key == key) {
                out.*field = core::index_set::parse(value);
                if ((out.*field)->empty()) {
                    fail(c.where, fmt::format("`{}` is no set of numbers such as 0-3,7", value));
                }
                return;
            }
        }
        fail(
            c.where,
            fmt::format(
                "unknown key `{}`: job, namespace, type, pod, index, attempt, round or nth", c.key
            )
        );
    }

    void fail(position where, std::string message) {
        if (!failed_) {
            failed_ = true;
            where_ = where;
            message_ = std::move(message);
        }
    }

    const tree& document_;
    bool failed_ = false;
    position where_;
    std::string message_;
};

}  // namespace

bool rule::matches(const pod_facts& of, std::int32_t nth_pod) const {
    return glob(job, of.job) && glob(ns, of.ns) && glob(type, of.type) && glob(pod, of.name) &&
           in(index, of.index) && in(attempt, of.attempt) && in(round, of.round) &&
           in(nth, nth_pod);
}

std::optional<scenario> read_scenario(
    std::string_view text, const std::string& file, std::string& error
) {
    const manifests::limits bounds;
    manifests::parsed_text parsed;
    if (auto bad = manifests::check_text(text, bounds)) {
        parsed.problems.push_back(std::move(*bad));
    } else {
        parsed = manifests::read_yaml(text, bounds);
    }
    if (!parsed.problems.empty()) {
        const manifests::problem& p = parsed.problems.front();
        error = fmt::format("{}: {}", manifests::to_text(file, p.where), p.message);
        return std::nullopt;
    }
    if (parsed.documents.size() != 1) {
        error = fmt::format("{}: one document is expected", file);
        return std::nullopt;
    }
    scenario_reader reader(parsed.documents.front());
    std::optional<scenario> out = reader.read();
    if (!out) {
        error = fmt::format("{}: {}", manifests::to_text(file, reader.where()), reader.message());
    }
    return out;
}

behaviour behaviour_of(
    const pod_facts& pod, std::int32_t nth, const scenario& from, std::string& problem
) {
    behaviour out;
    const auto apply = [&](const settings& list) {
        for (const auto& [key, value] : list) {
            if (const auto wrong = set(out, key, value)) {
                problem = fmt::format("{}{}: {}", annotation_prefix, key, *wrong);
            }
        }
    };
    apply(from.defaults);
    for (const rule& r : from.rules) {
        if (r.matches(pod, nth)) {
            apply(r.does);
        }
    }
    apply(pod.settings);
    return for_pod(std::move(out), pod.index, nth);
}

}  // namespace signalbox::op::pods
