// SPDX-License-Identifier: Apache-2.0
#include "api/walk/walk.hpp"

#include "api/walk/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace signalbox::core::schema {
namespace {

std::vector<std::string_view> value_names(const field& row) {
    std::vector<std::string_view> names;
    for (const enum_value& v : row.values) {
        names.push_back(v.name);
    }
    return names;
}

/// Its maximum is that of the type, which says nothing to a reader who did not meet it.
bool ends_with_its_type(const field& row) {
    return row.maximum >= std::numeric_limits<std::int32_t>::max();
}

std::string integer_words(const field& row) {
    return ends_with_its_type(row)
               ? fmt::format("an integer of at least {}", row.minimum)
               : fmt::format("an integer from {} to {}", row.minimum, row.maximum);
}

/// What a value of this field has to be, to follow "must be".
std::string expectation(const field& row) {
    switch (row.type) {
        case value_type::object:
        case value_type::opaque_object:
            return "an object";
        case value_type::object_list:
        case value_type::opaque_list:
            return "a list of objects";
        case value_type::string_list:
            return "a list of strings";
        case value_type::boolean:
            return "true or false";
        case value_type::integer:
            return integer_words(row);
        case value_type::integer_list:
            return "a list of integers";
        case value_type::int_or_string:
            return std::string(row.form->words);
        case value_type::time:
            return "an RFC 3339 time";
        case value_type::string:
            break;
    }
    if (!row.values.empty()) {
        const auto names = value_names(row);
        return (names.size() > 1 ? "one of " : "") + enumerate(names, "or");
    }
    return row.form != nullptr ? std::string(row.form->words) : "a string";
}

/// The field of that name or alias.
const field* find_field(std::span<const field> fields, std::string_view key) {
    for (const field& f : fields) {
        if (f.name == key ||
            std::find(f.aliases.begin(), f.aliases.end(), key) != f.aliases.end()) {
            return &f;
        }
    }
    return nullptr;
}

/// Which members of an object count: of several of one name the last, as for the API server.
class last_members {
public:
    explicit last_members(const json::value& object) : counts_(object.MemberCount(), true) {
        names_.reserve(object.MemberCount());
        for (const auto& member : object.GetObject()) {
            names_.push_back({json::view(member.name), names_.size(), member.value.IsNull()});
        }
        std::sort(names_.begin(), names_.end(), [](const entry& x, const entry& y) {
            return std::tie(x.name, x.index) < std::tie(y.name, y.index);
        });
        for (std::size_t i = 1; i < names_.size(); ++i) {
            counts_[names_[i - 1].index] = names_[i - 1].name != names_[i].name;
        }
    }
    bool counts(std::size_t index) const { return counts_[index]; }
    /// Whether there is a member of that name, and the one that counts is not null.
    bool has_value(std::string_view name) const {
        const auto after = std::upper_bound(
            names_.begin(),
            names_.end(),
            name,
            [](std::string_view wanted, const entry& e) { return wanted < e.name; }
        );
        return after != names_.begin() && (after - 1)->name == name && !(after - 1)->is_null;
    }

private:
    struct entry {
        std::string_view name;
        std::size_t index;
        bool is_null;
    };
    std::vector<entry> names_;  // by name, then place
    std::vector<bool> counts_;
};

class walker {
public:
    walker(std::size_t& next_order, findings_collector& findings)
        : next_order_(next_order), findings_(findings) {}

    node written(
        const field& row, const json::value& value, std::string pointer, std::string_view label
    );

private:
    node absent(const field& row, std::string pointer, std::size_t order);
    bool check(const node& n, const json::value& value);
    bool check_string(const node& n, const json::value& value);
    bool check_strings(const node& n, const json::value& value);
    bool check_integers(const node& n, const json::value& value);
    bool check_objects(const node& n, const json::value& value);
    bool check_integer(const node& n, const json::value& value);
    bool check_size(const node& n, const json::value& value);
    void walk_items(node& n, const json::value& value);
    void walk_members(node& n, const json::value& value);
    void add_member(
        node& n, const field& row, std::string_view key, const json::value& value, bool overridden
    );
    void require_members(node& n);
    void report_alias(const node& n, const field& row, std::string_view key, bool overridden);
    void report_unknown(const node& n, std::string_view key);

    void refuse_item(const node& n, rapidjson::SizeType i, std::string_view what);
    void refuse(const node& n, std::string_view what) {
        findings_.error(n.order, n.pointer, fmt::format("`{}` {}", n.written_as, what));
    }
    bool accept_or_refuse(bool fits, const node& n, const json::value& value) {
        if (!fits) {
            refuse(n, fmt::format("must be {}, not {}", expectation(*n.row), describe(value)));
        }
        return fits;
    }

    std::size_t& next_order_;
    findings_collector& findings_;
};

node walker::absent(const field& row, std::string pointer, std::size_t order) {
    node n;
    n.row = &row;
    n.pointer = std::move(pointer);
    n.order = order;
    n.written_as = row.name;
    if (row.type == value_type::object) {
        n.members.reserve(row.fields.size());
        for (const field& member : row.fields) {
            n.members.push_back(absent(member, child_pointer(n.pointer, member.name), order));
        }
    }
    return n;
}

node walker::written(
    const field& row, const json::value& value, std::string pointer, std::string_view label
) {
    node n = absent(row, std::move(pointer), next_order_++);
    n.written_as = label;
    n.is = check(n, value) ? node::state::present : node::state::broken;
    if (n.present()) {
        n.value = &value;
    }
    if (value.IsArray() && row.type == value_type::object_list) {
        walk_items(n, value);
    } else if (value.IsObject() && row.type == value_type::object) {
        walk_members(n, value);
    }
    return n;
}

bool walker::check(const node& n, const json::value& value) {
    switch (n.row->type) {
        case value_type::object:
        case value_type::opaque_object:
            return accept_or_refuse(value.IsObject(), n, value);
        case value_type::object_list:
            return accept_or_refuse(value.IsArray(), n, value) && check_size(n, value);
        case value_type::opaque_list:
            return accept_or_refuse(value.IsArray(), n, value) && check_size(n, value) &&
                   check_objects(n, value);
        case value_type::string_list:
            return accept_or_refuse(value.IsArray(), n, value) && check_size(n, value) &&
                   check_strings(n, value);
        case value_type::integer_list:
            return accept_or_refuse(value.IsArray(), n, value) && check_size(n, value) &&
                   check_integers(n, value);
        case value_type::boolean:
            return accept_or_refuse(value.IsBool(), n, value);
        case value_type::integer:
            return check_integer(n, value);
        case value_type::int_or_string:
            return value.IsNumber() ? check_integer(n, value) : check_string(n, value);
        case value_type::string:
        case value_type::time:
            return check_string(n, value);
    }
    return false;
}

bool walker::check_string(const node& n, const json::value& value) {
    const field& row = *n.row;
    if (!value.IsString()) {
        return accept_or_refuse(false, n, value);
    }
    const std::string_view text = json::view(value);
    if (!row.values.empty()) {
        for (const enum_value& v : row.values) {
            if (v.name == text) {
                return true;
            }
            if (!v.alias.empty() && v.alias == text) {
                findings_.warning(
                    n.order,
                    n.pointer,
                    fmt::format(
                        "`{}`: `{}` is an old spelling of `{}`", n.written_as, text, v.name
                    ),
                    deprecated_field
                );
                return true;
            }
        }
        return accept_or_refuse(false, n, value);
    }
    if (const std::size_t length = count_characters(text); length > row.max_length) {
        refuse(n, fmt::format("must have at most {} characters, not {}", row.max_length, length));
        return false;
    }
    if (row.required && row.form == nullptr && text.empty()) {
        refuse(n, "must not be empty");
        return false;
    }
    return accept_or_refuse(row.form == nullptr || row.form->matches(text), n, value);
}

void walker::refuse_item(const node& n, rapidjson::SizeType i, std::string_view what) {
    findings_.error(
        n.order, child_pointer(n.pointer, i), fmt::format("`{}[{}]` {}", n.written_as, i, what)
    );
}

bool walker::check_objects(const node& n, const json::value& value) {
    bool good = true;
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) {
        if (!value[i].IsObject()) {
            refuse_item(n, i, "must be an object, not " + describe(value[i]));
            good = false;
        }
    }
    return good;
}

bool walker::check_strings(const node& n, const json::value& value) {
    const field& row = *n.row;
    bool good = true;
    const auto refuse_text = [&](rapidjson::SizeType i, const std::string& what) {
        refuse_item(n, i, what);
        good = false;
    };
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) {
        const json::value& item = value[i];
        if (!item.IsString()) {
            refuse_text(i, "must be a string, not " + describe(item));
            continue;
        }
        const std::size_t length = count_characters(json::view(item));
        if (length > row.max_length) {
            refuse_text(
                i, fmt::format("must have at most {} characters, not {}", row.max_length, length)
            );
        } else if (row.form != nullptr && !row.form->matches(json::view(item))) {
            refuse_text(i, fmt::format("must be {}, not {}", row.form->words, describe(item)));
        }
    }
    return good;
}

bool walker::check_integers(const node& n, const json::value& value) {
    const field& row = *n.row;
    bool good = true;
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) {
        const auto number = value[i].IsNumber() ? integral(value[i]) : std::nullopt;
        if (!number || *number < row.minimum || *number > row.maximum) {
            refuse_item(
                n, i, fmt::format("must be {}, not {}", integer_words(row), describe(value[i]))
            );
            good = false;
        }
    }
    return good;
}

bool walker::check_integer(const node& n, const json::value& value) {
    const field& row = *n.row;
    const auto number = value.IsNumber() ? integral(value) : std::nullopt;
    const bool good = number && *number >= row.minimum && *number <= row.maximum;
    const bool beyond = value.IsNumber() && value.GetDouble() >= static_cast<double>(row.maximum);
    if (!good && beyond && ends_with_its_type(row)) {
        refuse(n, fmt::format("must be at most {}, not {}", row.maximum, describe(value)));
        return false;
    }
    return accept_or_refuse(good, n, value);
}

bool walker::check_size(const node& n, const json::value& value) {
    const field& row = *n.row;
    if (value.Size() > row.max_items) {
        refuse(n, fmt::format("must have at most {} items, not {}", row.max_items, value.Size()));
        return false;
    }
    if (row.required && value.Empty()) {
        refuse(n, "must have at least one item");
        return false;
    }
    return true;
}

void walker::walk_items(node& n, const json::value& value) {
    // Items past the limit are refused as a whole: hostile input must not cost a node each.
    const auto count = std::min<rapidjson::SizeType>(value.Size(), n.row->max_items);
    n.items.reserve(count);
    for (rapidjson::SizeType i = 0; i < count; ++i) {
        const field& row = *n.row;
        node item;
        item.row = &row;
        item.order = next_order_++;
        item.pointer = child_pointer(n.pointer, i);
        item.written_as = row.name;
        for (const field& member : row.fields) {
            item.members.push_back(
                absent(member, child_pointer(item.pointer, member.name), item.order)
            );
        }
        if (value[i].IsObject()) {
            item.is = node::state::present;
            item.value = &value[i];
            walk_members(item, value[i]);
        } else {
            item.is = node::state::broken;
            findings_.error(
                item.order,
                item.pointer,
                fmt::format("`{}[{}]` must be an object, not {}", row.name, i, describe(value[i]))
            );
        }
        n.items.push_back(std::move(item));
    }
}

void walker::walk_members(node& n, const json::value& value) {
    const last_members members(value);
    for (rapidjson::SizeType i = 0; i < value.MemberCount(); ++i) {
        const auto& member = *(value.MemberBegin() + i);
        const std::string_view key = json::view(member.name);
        if (!members.counts(i)) {
            if (findings_.count_if_full(severity::warning)) {
                continue;
            }
            findings_.warning(
                next_order_++,
                child_pointer(n.pointer, key),
                fmt::format("{} is written more than once; the last value counts", quoted(key)),
                field_overridden
            );
        } else if (const field* row = find_field(n.row->fields, key); row == nullptr) {
            if (!member.value.IsNull()) {
                report_unknown(n, key);
            }
        } else if (!member.value.IsNull()) {
            add_member(
                n, *row, key, member.value, key != row->name && members.has_value(row->name)
            );
        }
    }
    require_members(n);
}

void walker::add_member(
    node& n, const field& row, std::string_view key, const json::value& value, bool overridden
) {
    node& member = n.members[static_cast<std::size_t>(&row - n.row->fields.data())];
    report_alias(n, row, key, overridden);
    node made = written(row, value, child_pointer(n.pointer, key), key);
    if (!overridden) {
        member = std::move(made);
    }
}

void walker::require_members(node& n) {
    for (node& member : n.members) {
        if (member.row->required && member.is == node::state::absent) {
            member.is = node::state::broken;
            findings_.error(
                n.order,
                member.pointer,
                fmt::format(
                    "`{}` is missing; it must be {}", member.row->name, expectation(*member.row)
                )
            );
        }
    }
}

void walker::report_alias(const node& n, const field& row, std::string_view key, bool overridden) {
    const std::string_view successor = key == row.name ? row.moved_to : row.name;
    if (!successor.empty()) {
        findings_.warning(
            next_order_,
            child_pointer(n.pointer, key),
            overridden
                ? fmt::format(
                      "`{}` is an old name of `{}`, which is set too and counts", key, successor
                  )
                : fmt::format("`{}` is an old name of `{}`", key, successor),
            deprecated_field
        );
    }
}

void walker::report_unknown(const node& n, std::string_view key) {
    if (findings_.count_if_full(severity::warning)) {
        return;
    }
    std::vector<std::string_view> names;
    for (const field& f : n.row->fields) {
        if (f.moved_to.empty()) {
            names.push_back(f.name);
        }
    }
    const std::string_view guess = nearest(key, names);
    findings_.warning(
        next_order_++,
        child_pointer(n.pointer, key),
        guess.empty()
            ? fmt::format(
                  "{} is no known field and has no effect; known are {}",
                  quoted(key),
                  enumerate(names, "and")
              )
            : fmt::format(
                  "{} is no known field and has no effect; did you mean `{}`?", quoted(key), guess
              ),
        unknown_field
    );
}

}  // namespace

node walk(
    const field& row,
    const json::value& value,
    std::string pointer,
    std::size_t& next_order,
    findings_collector& findings
) {
    return walker(next_order, findings).written(row, value, std::move(pointer), row.name);
}

}  // namespace signalbox::core::schema
