// SPDX-License-Identifier: Apache-2.0
#include "server/store/selectors.hpp"

#include "server/kinds/meta.hpp"
#include "server/values/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

/// Splits at commas outside parentheses.
std::vector<std::string_view> terms_of(std::string_view text) {
    std::vector<std::string_view> out;
    std::size_t start = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i == text.size() || (text[i] == ',' && depth == 0)) {
            if (const std::string_view term = without_blanks(text.substr(start, i - start));
                !term.empty()) {
                out.push_back(term);
            }
            start = i + 1;
        } else if (text[i] == '(') {
            ++depth;
        } else if (text[i] == ')') {
            --depth;
        }
    }
    return out;
}

refusal bad_selector(std::string_view term) {
    return bad_request(fmt::format("unable to parse requirement: {}", term));
}

}  // namespace

outcome<std::vector<selector::label_term>> selector::parse_labels(std::string_view text) {
    std::vector<label_term> out;
    for (const std::string_view term : terms_of(text)) {
        label_term t;
        const std::size_t open = term.find('(');
        const std::size_t equals = term.find('=');
        std::string_view key = term;
        if (open != std::string_view::npos && term.back() == ')') {
            const std::string_view head = without_blanks(term.substr(0, open));
            const std::size_t space = head.rfind(' ');
            const std::string_view word =
                space == std::string_view::npos ? std::string_view{} : head.substr(space + 1);
            if (word != "in" && word != "notin") {
                return bad_selector(term);
            }
            t.what = word == "in" ? op::in : op::not_in;
            key = without_blanks(head.substr(0, space));
            const std::string_view inside = term.substr(open + 1, term.size() - open - 2);
            for (std::size_t at = 0; at <= inside.size();) {
                const std::size_t comma = std::min(inside.find(',', at), inside.size());
                t.values.emplace_back(without_blanks(inside.substr(at, comma - at)));
                at = comma + 1;
            }
        } else if (equals != std::string_view::npos) {
            const bool negative = equals > 0 && term[equals - 1] == '!';
            t.what = negative ? op::not_in : op::in;
            key = without_blanks(term.substr(0, negative ? equals - 1 : equals));
            std::string_view value = term.substr(equals + 1);
            if (!value.empty() && value.front() == '=') {
                value.remove_prefix(1);
            }
            t.values.emplace_back(without_blanks(value));
        } else if (term.front() == '!') {
            t.what = op::absent;
            key = without_blanks(term.substr(1));
        }
        if (!is_qualified_name(key) ||
            !std::all_of(t.values.begin(), t.values.end(), [](const std::string& v) {
                return is_label_value(v);
            })) {
            return bad_selector(term);
        }
        t.key = key;
        out.push_back(std::move(t));
    }
    return out;
}

outcome<std::vector<selector::field_term>> selector::parse_fields(
    const kind_info& kind, std::string_view text
) {
    std::vector<field_term> out;
    for (const std::string_view term : terms_of(text)) {
        const std::size_t equals = term.find('=');
        if (equals == std::string_view::npos) {
            return bad_request(fmt::format("invalid field selector: {}", term));
        }
        field_term t;
        t.equal = !term.substr(0, equals).ends_with('!');
        const std::string_view path = term.substr(0, t.equal ? equals : equals - 1);
        std::string_view value = term.substr(equals + 1);
        if (!value.empty() && value.front() == '=') {
            value.remove_prefix(1);
        }
        t.value = value;
        const auto known = std::find(kind.selectable.begin(), kind.selectable.end(), path);
        if (path == "metadata.name") {
            t.from = field_term::source::name;
        } else if (path == "metadata.namespace") {
            t.from = field_term::source::ns;
        } else if (known != kind.selectable.end()) {
            t.from = field_term::source::indexed;
            t.index = static_cast<std::size_t>(known - kind.selectable.begin());
        } else {
            return bad_request(fmt::format("field label not supported: {}", path));
        }
        out.push_back(std::move(t));
    }
    return out;
}

outcome<selector> selector::parse(
    const kind_info& kind, std::string_view labels, std::string_view fields
) {
    selector s;
    outcome<std::vector<label_term>> l = parse_labels(labels);
    if (!l) {
        return l.error();
    }
    outcome<std::vector<field_term>> f = parse_fields(kind, fields);
    if (!f) {
        return f.error();
    }
    s.labels_ = std::move(*l);
    s.fields_ = std::move(*f);
    return s;
}

bool selector::matches(const record& r) const {
    for (const label_term& t : labels_) {
        const auto it = std::find_if(r.labels.begin(), r.labels.end(), [&t](const auto& l) {
            return l.first == t.key;
        });
        const bool has = it != r.labels.end();
        const bool listed =
            has && std::find(t.values.begin(), t.values.end(), it->second) != t.values.end();
        const bool ok = t.what == op::in       ? listed
                        : t.what == op::not_in ? !listed
                        : t.what == op::exists ? has
                                               : !has;
        if (!ok) {
            return false;
        }
    }
    for (const field_term& t : fields_) {
        // A record from before its kind made the field selectable has no value for it.
        const std::string_view value = t.from == field_term::source::name ? r.name
                                       : t.from == field_term::source::ns ? r.ns
                                       : t.index < r.fields.size()
                                           ? std::string_view(r.fields[t.index])
                                           : std::string_view{};
        if ((value == t.value) != t.equal) {
            return false;
        }
    }
    return true;
}

std::string_view selector::exact_name() const {
    for (const field_term& t : fields_) {
        if (t.from == field_term::source::name && t.equal) {
            return t.value;
        }
    }
    return {};
}

}  // namespace signalbox::k8sio::server
