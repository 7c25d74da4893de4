// SPDX-License-Identifier: Apache-2.0
#include "server/formats/json_path.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::value;
using values = std::vector<const value*>;

std::string_view without_quotes(std::string_view text) {
    while (!text.empty() && (text.front() == ' ')) {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
        text.back() == text.front()) {
        return text.substr(1, text.size() - 2);
    }
    return text;
}

values children(const values& from, std::string_view name) {
    values out;
    for (const value* v : from) {
        if (const value* child = json::member(*v, name)) {
            out.push_back(child);
        }
    }
    return out;
}

values elements(const values& from) {
    values out;
    for (const value* v : from) {
        if (v->IsArray()) {
            for (const value& e : v->GetArray()) {
                out.push_back(&e);
            }
        } else if (v->IsObject()) {
            for (const auto& m : v->GetObject()) {
                out.push_back(&m.value);
            }
        }
    }
    return out;
}

values at_index(const values& from, int index) {
    values out;
    for (const value* v : from) {
        if (!v->IsArray()) {
            continue;
        }
        const int size = static_cast<int>(v->Size());
        const int at = index < 0 ? size + index : index;
        if (at >= 0 && at < size) {
            out.push_back(&(*v)[static_cast<rapidjson::SizeType>(at)]);
        }
    }
    return out;
}

/// How `have` compares with `wanted`: as numbers if both are. Below 0, 0 or above.
int compared(const value& have, std::string_view wanted) {
    double number = 0;
    const auto [stop, error] =
        std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
    if (have.IsNumber() && error == std::errc{} && stop == wanted.data() + wanted.size()) {
        return have.GetDouble() < number ? -1 : have.GetDouble() > number ? 1 : 0;
    }
    return json::scalar_text(have).compare(wanted);
}

struct comparison {
    std::string_view sign;
    bool (*holds)(int order);
};

/// In the order in which they are looked for.
constexpr std::array<comparison, 6> comparisons{{
    {"==", [](int order) { return order == 0; }},
    {"!=", [](int order) { return order != 0; }},
    {"<=", [](int order) { return order <= 0; }},
    {">=", [](int order) { return order >= 0; }},
    {"<", [](int order) { return order < 0; }},
    {">", [](int order) { return order > 0; }},
}};

/// `@.type=="Ready"`, `@.count>1` or `@.name`.
values filtered(const values& from, std::string_view condition) {
    const auto sign = std::find_if(comparisons.begin(), comparisons.end(), [&](const auto& c) {
        return condition.find(c.sign) != std::string_view::npos;
    });
    const bool compares = sign != comparisons.end();
    const std::size_t op = compares ? condition.find(sign->sign) : condition.size();
    std::string_view left = without_quotes(condition.substr(0, op));
    if (left.empty() || left.front() != '@') {
        return {};
    }
    left.remove_prefix(1);
    values out;
    for (const value* e : elements(from)) {
        const values found = json_path(*e, left);
        if (!found.empty() &&
            (!compares ||
             sign->holds(
                 compared(*found.front(), without_quotes(condition.substr(op + sign->sign.size())))
             ))) {
            out.push_back(e);
        }
    }
    return out;
}

/// The parts of `'a','b'`; of anything without a comma outside of quotes the whole.
std::vector<std::string_view> parts_of_union(std::string_view inside) {
    std::vector<std::string_view> out;
    char within = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < inside.size(); ++i) {
        const char c = inside[i];
        if (within != 0) {
            within = c == within ? '\0' : within;
        } else if (c == '\'' || c == '"') {
            within = c;
        } else if (c == ',') {
            out.push_back(inside.substr(begin, i - begin));
            begin = i + 1;
        }
    }
    out.push_back(inside.substr(begin));
    return out;
}

/// The end of a bracket that opens at `path[0]`, minding quotes; npos if it does not close.
std::size_t bracket_end(std::string_view path) {
    char quote = 0;
    int depth = 0;
    for (std::size_t i = 0; i < path.size(); ++i) {
        const char c = path[i];
        if (quote != 0) {
            quote = c == quote ? '\0' : quote;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '[') {
            ++depth;
        } else if (c == ']' && --depth == 0) {
            return i;
        }
    }
    return std::string_view::npos;
}

}  // namespace

values json_path(const value& root, std::string_view path) {
    if (path.size() >= 2 && path.front() == '{' && path.back() == '}') {
        path = path.substr(1, path.size() - 2);
    }
    if (!path.empty() && path.front() == '$') {
        path.remove_prefix(1);
    }
    values at = {&root};
    while (!path.empty() && !at.empty()) {
        if (path.front() == '.') {
            path.remove_prefix(1);
            std::string name;
            std::size_t i = 0;
            for (; i < path.size() && path[i] != '.' && path[i] != '['; ++i) {
                if (path[i] == '\\' && i + 1 < path.size()) {
                    ++i;
                }
                name += path[i];
            }
            path.remove_prefix(i);
            if (name == "*") {
                at = elements(at);
            } else if (!name.empty()) {
                at = children(at, name);
            }
            continue;
        }
        if (path.front() != '[') {
            return {};
        }
        const std::size_t end = bracket_end(path);
        if (end == std::string_view::npos) {
            return {};
        }
        const std::string_view inside = path.substr(1, end - 1);
        path.remove_prefix(end + 1);
        if (inside == "*") {
            at = elements(at);
        } else if (inside.size() > 3 && inside.substr(0, 2) == "?(" && inside.back() == ')') {
            at = filtered(at, inside.substr(2, inside.size() - 3));
        } else if (!inside.empty() && (inside.front() == '\'' || inside.front() == '"')) {
            values below;
            for (const std::string_view name : parts_of_union(inside)) {
                // As kubectl has it: in quotes, too, a dot parts names.
                const std::string path_of_names = "." + std::string(without_quotes(name));
                for (const value* v : at) {
                    const values found = json_path(*v, path_of_names);
                    below.insert(below.end(), found.begin(), found.end());
                }
            }
            at = std::move(below);
        } else {
            int index = 0;
            const auto [stop, error] =
                std::from_chars(inside.data(), inside.data() + inside.size(), index);
            if (error != std::errc{}) {
                return {};
            }
            at = at_index(at, index);
        }
    }
    return at;
}

const value* simple_path(const value& root, std::string_view path) {
    if (!path.empty() && path.front() == '.') {
        path.remove_prefix(1);
    }
    return json::find_dotted(root, path);
}

void set_simple_path(value& root, std::string_view path, value v, json::arena& a) {
    if (!path.empty() && path.front() == '.') {
        path.remove_prefix(1);
    }
    value* at = &root;
    for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
        at = &json::object_at(*at, path.substr(0, dot), a);
        path.remove_prefix(dot + 1);
    }
    json::set(*at, path, std::move(v), a);
}

}  // namespace signalbox::k8sio::server
