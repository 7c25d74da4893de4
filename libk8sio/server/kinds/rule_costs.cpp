// SPDX-License-Identifier: Apache-2.0
#include "server/kinds/rule_costs.hpp"

#include "server/schema/cel_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {
namespace {

using json::value;

std::string too_dear(std::string_view what, std::uint64_t cost, std::uint64_t limit) {
    const double factor = static_cast<double>(cost) / static_cast<double>(limit);
    return fmt::format(
        "{} exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, "
        "maxProperties, and maxLength where arrays, maps, and strings are declared)",
        what,
        factor > 100   ? "more than 100x"
        : factor < 1.5 ? fmt::format("{:f}x", factor)
                       : fmt::format("{:.1f}x", factor)
    );
}

/// How often values of a schema are there for each of the one above; nothing if without bound.
std::optional<std::uint64_t> factor_of(const value& schema) {
    const std::string_view type = json::string_at(schema, {"type"});
    const bool map = type == "object" && json::member(schema, "additionalProperties") != nullptr;
    if (!map && type != "array") {
        return 1;
    }
    const auto said = json::int_at(schema, {map ? "maxProperties" : "maxItems"});
    return said ? std::optional(static_cast<std::uint64_t>(std::max<std::int64_t>(*said, 0)))
                : std::nullopt;
}

class rule_walk {
public:
    explicit rule_walk(problems& list) : list_(&list) {}

    /// `known`: what is declared here; null: not known yet. `times`: how often there are such
    /// values at most; nothing: as often as a request has room for.
    void look(
        const value& schema,
        const std::string& at,
        cel::declared_ptr known,
        cel::resource_root root,
        std::optional<std::uint64_t> times
    );

    void complain_of_all(const std::string& at) const;

private:
    void judge(
        const value& rule,
        const std::string& at,
        const cel::declared& self,
        std::optional<std::uint64_t> times
    );
    void add(std::string at, std::uint64_t cost, std::string_view what);

    struct dear_rule {
        std::string at;
        std::uint64_t cost = 0;
    };
    problems* list_;
    std::uint64_t all_ = 0;
    std::vector<dear_rule> dearest_;
};

void rule_walk::add(std::string at, std::uint64_t cost, std::string_view what) {
    if (cost > cel::rule_limit) {
        list_->forbidden(at, too_dear(what, cost, cel::rule_limit));
    }
    all_ = cel::sum(all_, cost);
    constexpr std::size_t named = 4;
    if (cost >= cel::schema_limit / 100) {
        const auto place = std::upper_bound(
            dearest_.begin(),
            dearest_.end(),
            cost,
            [](std::uint64_t c, const dear_rule& r) { return c > r.cost; }
        );
        dearest_.insert(place, {std::move(at), cost});
        dearest_.resize(std::min(dearest_.size(), named));
    }
}

void rule_walk::judge(
    const value& rule,
    const std::string& at,
    const cel::declared& self,
    std::optional<std::uint64_t> times
) {
    const auto condition = cel::parse(json::string_at(rule, {"rule"}));
    if (!condition) {
        return;
    }
    constexpr std::int64_t comma = 1;
    const std::uint64_t often =
        times.value_or(static_cast<std::uint64_t>(cel::max_request / (self.smallest + comma)));
    const std::uint64_t cost = cel::product(cel::estimate(**condition, self), often);
    add(at + ".rule", cost, "estimated rule cost");
    const std::string_view text = json::string_at(rule, {"messageExpression"});
    if (const auto message = cel::parse(text); !text.empty() && message) {
        const std::uint64_t once = cel::estimate(**message, self);
        add(at + ".messageExpression", once, "estimated messageExpression cost");
    }
}

void rule_walk::look(
    const value& schema,
    const std::string& at,
    cel::declared_ptr known,
    cel::resource_root root,
    std::optional<std::uint64_t> times
) {
    if (!schema.IsObject()) {
        return;
    }
    if (known == nullptr) {
        known = cel::declare(schema, root);
    }
    const auto factor = factor_of(schema);
    const auto below =
        times && factor ? std::optional(cel::product(*times, *factor)) : std::nullopt;
    const auto look_below = [&](const value& part, const std::string& where, auto declared) {
        look(part, where, std::move(declared), cel::embedded_root(part), below);
    };
    const cel::declared_ptr element = known == nullptr ? nullptr : known->element;
    if (const value* more = json::find(schema, "additionalProperties")) {
        look_below(*more, at + ".additionalProperties", element);
    }
    if (const value* parts = json::find(schema, "properties"); parts && parts->IsObject()) {
        for (const auto& m : parts->GetObject()) {
            cel::declared_ptr field;
            if (known != nullptr) {
                const auto found = known->fields.find(json::view(m.name));
                field = found == known->fields.end() ? nullptr : found->second;
            }
            const std::string where = fmt::format("{}.properties[{}]", at, json::view(m.name));
            look_below(m.value, where, std::move(field));
        }
    }
    if (const value* items = json::find(schema, "items")) {
        look_below(*items, at + ".items", element);
    }
    const value* rules = json::find(schema, "x-kubernetes-validations");
    const bool judged = known != nullptr && rules != nullptr && rules->IsArray();
    for (rapidjson::SizeType i = 0; judged && i < rules->Size(); ++i) {
        judge((*rules)[i], fmt::format("{}.x-kubernetes-validations[{}]", at, i), *known, times);
    }
}

void rule_walk::complain_of_all(const std::string& at) const {
    if (all_ <= cel::schema_limit) {
        return;
    }
    for (const dear_rule& r : dearest_) {
        list_->forbidden(
            r.at,
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 "
            "schema"
        );
    }
    list_->forbidden(
        at,
        too_dear(
            "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
            all_,
            cel::schema_limit
        )
    );
}

}  // namespace

void validate_rule_costs(const value& schema, const std::string& at, problems& list) {
    rule_walk walk(list);
    walk.look(schema, at, nullptr, cel::resource_root::yes, 1);
    walk.complain_of_all(at);
}

}  // namespace signalbox::k8sio::server
