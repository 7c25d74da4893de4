// SPDX-License-Identifier: Apache-2.0
#include "linear/filling.hpp"

#include <rapidjson/pointer.h>

#include <utility>

namespace signalbox::test {
namespace {

constexpr std::string_view hole = "\"@here@\"";

filling between(std::string open, std::string close, std::function<std::string(std::size_t)> part) {
    return
        [open = std::move(open), close = std::move(close), part = std::move(part)](std::size_t bytes
        ) {
            std::string out = open;
            out.reserve(bytes + 256);
            for (std::size_t i = 0; out.size() < bytes; ++i) {
                out += i == 0 ? "" : ",";
                out += part(i);
            }
            return out + close;
        };
}

}  // namespace

filling text_of(std::string unit) {
    return [unit = std::move(unit)](std::size_t bytes) {
        std::string out = "\"";
        out.reserve(bytes + unit.size() + 2);
        while (out.size() < bytes) {
            out += unit;
        }
        return out + '"';
    };
}

filling list_of_items(std::function<std::string(std::size_t)> item) {
    return between("[", "]", std::move(item));
}

filling object_of(std::function<std::string(std::size_t)> member) {
    return between("{", "}", std::move(member));
}

filled_job filled_at(
    std::string_view name, std::string_view job, const std::string& pointer, filling fill
) {
    json::document object;
    json::parse(object, job);
    rapidjson::Pointer(pointer.c_str()).Set(object, "@here@");
    const std::string text = json::to_text(object);
    const std::size_t at = text.find(hole);
    return {
        std::string(name),
        [before = text.substr(0, at),
         after = text.substr(at + hole.size()),
         fill = std::move(fill)](std::size_t bytes) { return before + fill(bytes) + after; }};
}

}  // namespace signalbox::test
