// SPDX-License-Identifier: Apache-2.0
#include "server/values/problems.hpp"

#include "server/values/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

std::string shown(const json::value& bad) {
    return bad.IsString() ? quoted(json::view(bad)) : json::to_text(bad);
}

std::string with_detail(std::string text, std::string_view detail) {
    if (!detail.empty()) {
        text += ": ";
        text += detail;
    }
    return text;
}

}  // namespace

void problems::add(std::string reason, std::string field, std::string body) {
    list_.push_back({std::move(reason), std::move(body), std::move(field)});
}

void problems::required(std::string field, std::string_view detail) {
    add("FieldValueRequired", std::move(field), with_detail("Required value", detail));
}

void problems::forbidden(std::string field, std::string_view detail) {
    add("FieldValueForbidden", std::move(field), with_detail("Forbidden", detail));
}

void problems::invalid(std::string field, const json::value& bad, std::string_view detail) {
    add("FieldValueInvalid", std::move(field), with_detail("Invalid value: " + shown(bad), detail));
}

void problems::invalid(std::string field, std::string_view bad, std::string_view detail) {
    add("FieldValueInvalid", std::move(field), with_detail("Invalid value: " + quoted(bad), detail)
    );
}

void problems::wrong_type(std::string field, const json::value& bad, std::string_view wanted) {
    // The real validator shows the JSON type of anything but a string or boolean as text.
    const std::string type = bad.IsString()   ? "string"
                             : bad.IsBool()   ? "boolean"
                             : bad.IsObject() ? "object"
                             : bad.IsArray()  ? "array"
                             : bad.IsNull()   ? "null"
                             : bad.IsInt64()  ? "integer"
                                              : "number";
    std::string body = fmt::format(
        "Invalid value: \"{}\": {} in body must be of type {}: \"{}\"", type, field, wanted, type
    );
    add("FieldValueTypeInvalid", std::move(field), std::move(body));
}

void problems::unsupported(
    std::string field, const json::value& bad, const std::vector<std::string>& supported
) {
    std::string list;
    for (const std::string& s : supported) {
        list += (list.empty() ? "" : ", ") + quoted(s);
    }
    add("FieldValueNotSupported",
        std::move(field),
        fmt::format("Unsupported value: {}: supported values: {}", shown(bad), list));
}

void problems::too_long(std::string field, std::size_t most) {
    add("FieldValueTooLong",
        std::move(field),
        fmt::format("Too long: may not be more than {} bytes", most));
}

void problems::too_many(std::string field, std::size_t count, std::size_t most) {
    add("FieldValueTooMany",
        std::move(field),
        fmt::format("Too many: {}: must have at most {} items", count, most));
}

void problems::duplicate(std::string field, const json::value& bad) {
    add("FieldValueDuplicate", std::move(field), "Duplicate value: " + shown(bad));
}

bool problems::forbids_rules() const {
    static constexpr std::array<std::string_view, 5> reasons{
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid"};
    return std::any_of(list_.begin(), list_.end(), [](const status_cause& cause) {
        return std::find(reasons.begin(), reasons.end(), cause.reason) != reasons.end();
    });
}

void complain(
    const std::vector<std::string>& bad,
    const std::string& field,
    std::string_view shown,
    problems& list
) {
    for (const std::string& text : bad) {
        list.invalid(field, shown, text);
    }
}

}  // namespace signalbox::k8sio::server
