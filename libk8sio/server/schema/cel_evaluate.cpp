// SPDX-License-Identifier: Apache-2.0
//
// Evaluation. An error is a value: `false && error` is false, as CEL has it. Costs are those of the
// real server (cel-go's interpreter/runtimecost.go), whose macros are loops over an accumulator.
#include "server/schema/cel_values.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace signalbox::k8sio::server::cel {
namespace {

/// What a macro costs for each item beside its own expressions.
std::uint64_t step_cost(const std::string& name) {
    return name == "all" ? 3 : name == "exists" ? 4 : name == "map" ? list_cost + 2 : 1;
}

datum cancelled() {
    return fail("operation cancelled: actual cost limit exceeded");
}

class evaluator {
public:
    evaluator(const json::value& self, const json::value* old_self) {
        variables_.emplace_back("self", from_json(self));
        if (old_self != nullptr) {
            variables_.emplace_back("oldSelf", from_json(*old_self));
        }
    }

    datum value_of(const expression& e);
    const meter& spent() const { return meter_; }

private:
    /// What a macro has found so far.
    struct findings {
        items kept;
        std::int64_t holding = 0;
        std::int64_t false_items = 0;
        std::optional<datum> failed;
    };

    datum strict_value(const expression& e);
    datum macro(const expression& e);
    void take_item(const expression& e, const datum& item, findings& found);
    datum logical(const expression& e);
    datum variable(const expression& e);
    datum conditional(const expression& e);

    meter meter_;
    /// By name, the innermost last.
    std::vector<std::pair<std::string_view, datum>> variables_;
};

void evaluator::take_item(const expression& e, const datum& item, findings& found) {
    const bool maps = e.text == "map";
    meter_.charge(step_cost(e.text));
    datum first = value_of(*e.parts[1]);
    if (maps && e.parts.size() == 2) {
        found.kept.push_back(std::move(first));
    } else if (as<bool>(first) == nullptr) {
        found.failed = as<failure>(first) != nullptr ? std::move(first) : no_such_overload();
    } else if (!*as<bool>(first)) {
        ++found.false_items;
    } else if (maps) {
        found.kept.push_back(value_of(*e.parts[2]));
    } else {
        ++found.holding;
        if (e.text == "filter") {
            meter_.charge(list_cost + 2);
            found.kept.push_back(item);
        }
    }
}

datum evaluator::macro(const expression& e) {
    const datum over = value_of(*e.parts[0]);
    if (as<failure>(over) != nullptr) {
        return over;
    }
    const json::value* object = object_of(over);  // macros go over the keys of maps
    const std::optional<list_view> list = object != nullptr ? list_view(*object) : list_of(over);
    if (!list) {
        return no_such_overload();
    }
    findings found;
    for (std::size_t i = 0; i < list->size(); ++i) {
        variables_.emplace_back(e.bound, list->at(i));
        const datum item = variables_.back().second;
        take_item(e, item, found);
        variables_.pop_back();
        if (meter_.over()) {
            return cancelled();
        }
        // One item can decide whatever the others fail of.
        if (e.text == "exists" && found.holding > 0) {
            return true;
        }
        if (e.text == "all" && found.false_items > 0) {
            return false;
        }
    }
    if (e.text == "map" || e.text == "filter") {
        const auto bad = std::find_if(found.kept.begin(), found.kept.end(), [](const datum& d) {
            return as<failure>(d) != nullptr;
        });
        return bad != found.kept.end() ? *bad
               : found.failed          ? *found.failed
                              : datum(std::make_shared<const items>(std::move(found.kept)));
    }
    return found.failed      ? *found.failed
           : e.text == "all" ? datum(true)
                             : datum(e.text == "exists_one" && found.holding == 1);
}

datum evaluator::logical(const expression& e) {
    const bool decides = e.what == op::logical_or;
    datum left = value_of(*e.parts[0]);
    if (as<bool>(left) != nullptr && *as<bool>(left) == decides) {
        return decides;
    }
    datum right = value_of(*e.parts[1]);
    if (as<bool>(right) != nullptr && *as<bool>(right) == decides) {
        return decides;
    }
    for (datum* side : {&left, &right}) {
        if (as<bool>(*side) == nullptr) {
            return as<failure>(*side) != nullptr ? std::move(*side) : no_such_overload();
        }
    }
    return !decides;
}

datum evaluator::variable(const expression& e) {
    meter_.charge(1);
    const auto found = std::find_if(variables_.rbegin(), variables_.rend(), [&e](const auto& v) {
        return v.first == e.text;
    });
    return found == variables_.rend() ? fail("undeclared reference to " + e.text) : found->second;
}

datum evaluator::conditional(const expression& e) {
    const datum test = value_of(*e.parts[0]);
    if (as<bool>(test) == nullptr) {
        return as<failure>(test) != nullptr ? test : no_such_overload();
    }
    return value_of(*e.parts[*as<bool>(test) ? 1 : 2]);
}

datum evaluator::value_of(const expression& e) {
    if (meter_.over()) {
        return cancelled();
    }
    switch (e.what) {
        case op::literal_null:
            return null_value{};
        case op::literal_bool:
            return e.integer != 0;
        case op::literal_int:
            return e.integer;
        case op::literal_double:
            return e.real;
        case op::literal_text:
            return text_value{e.text, nullptr};
        case op::variable:
            return variable(e);
        case op::member:
        case op::has:
            return member_of(value_of(*e.parts[0]), e, meter_);
        case op::macro:
            return macro(e);
        case op::logical_and:
        case op::logical_or:
            return logical(e);
        case op::conditional:
            return conditional(e);
        default:
            return strict_value(e);
    }
}

/// Of what needs the values of all its parts.
datum evaluator::strict_value(const expression& e) {
    items with;
    with.reserve(e.parts.size());
    for (const expression_ptr& part : e.parts) {
        with.push_back(value_of(*part));
        if (as<failure>(with.back()) != nullptr) {
            return with.back();
        }
    }
    switch (e.what) {
        case op::list:
            meter_.charge(list_cost);
            return std::make_shared<const items>(std::move(with));
        case op::call:
            return call(e.text, with, e.pattern.get(), meter_);
        case op::logical_not:
            meter_.charge(1);
            return as<bool>(with[0]) == nullptr ? no_such_overload() : !*as<bool>(with[0]);
        case op::negate: {
            const datum zero = as<double>(with[0]) != nullptr ? datum(0.0) : datum(std::int64_t{0});
            return combined(op::subtract, zero, with[0], meter_);
        }
        default:
            return combined(e.what, with[0], with[1], meter_);
    }
}

}  // namespace

verdict evaluate(const expression& rule, const json::value& self, const json::value* old_self) {
    evaluator run(self, old_self);
    datum out = run.value_of(rule);
    verdict v;
    v.cost = run.spent().spent();
    v.cancelled = run.spent().over();
    if (v.cancelled) {
        out = cancelled();
    }
    if (const bool* holds = as<bool>(out)) {
        v.holds = *holds;
    } else {
        const failure* failed = as<failure>(out);
        v.error = failed != nullptr ? failed->text : "the rule gives no boolean";
    }
    return v;
}

}  // namespace signalbox::k8sio::server::cel
