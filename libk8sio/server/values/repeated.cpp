// SPDX-License-Identifier: Apache-2.0
#include "server/values/repeated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace signalbox::k8sio::server::json {
namespace {

constexpr std::size_t most_told = 100;

/// So few names are compared with each other; of more a sorted list is made.
constexpr rapidjson::SizeType few_names = 16;

bool names_come_again(const value& object) {
    if (object.MemberCount() <= few_names) {
        for (auto m = object.MemberBegin(); m != object.MemberEnd(); ++m) {
            for (auto before = object.MemberBegin(); before != m; ++before) {
                if (view(before->name) == view(m->name)) {
                    return true;
                }
            }
        }
        return false;
    }
    std::vector<std::string_view> names;
    names.reserve(object.MemberCount());
    for (const auto& m : object.GetObject()) {
        names.push_back(view(m.name));
    }
    std::ranges::sort(names);
    return std::ranges::adjacent_find(names) != names.end();
}

/// Without a word of where: there is mostly nothing to tell.
bool any_repeated(const value& v) {
    if (v.IsArray()) {
        return std::any_of(v.Begin(), v.End(), any_repeated);
    }
    return v.IsObject() && (names_come_again(v) ||
                            std::any_of(v.MemberBegin(), v.MemberEnd(), [](const value::Member& m) {
                                return any_repeated(m.value);
                            }));
}

class search {
public:
    explicit search(std::vector<std::string>& found) : found_(&found) {}

    void look_at(value& v, const std::string& path) {
        if (v.IsObject()) {
            look_at_members(v, path);
        } else if (v.IsArray()) {
            for (rapidjson::SizeType i = 0; i < v.Size(); ++i) {
                if (v[i].IsObject() || v[i].IsArray()) {
                    look_at(v[i], fmt::format("{}[{}]", path, i));
                }
            }
        }
    }

private:
    void look_at_members(value& v, const std::string& path) {
        std::unordered_map<std::string_view, rapidjson::SizeType> last;
        last.reserve(v.MemberCount());
        rapidjson::SizeType at = 0;
        for (auto& m : v.GetObject()) {
            const bool is_new = last.insert_or_assign(view(m.name), at++).second;
            if (is_new && !m.value.IsObject() && !m.value.IsArray()) {
                continue;
            }
            const std::string here =
                path.empty() ? text_of(m.name) : fmt::format("{}.{}", path, view(m.name));
            if (!is_new) {
                tell(here);
            }
            look_at(m.value, here);
        }
        if (last.size() == v.MemberCount()) {
            return;
        }
        // Short names are within the members, which move.
        std::vector<bool> stays(v.MemberCount(), false);
        for (const auto& [name, index] : last) {
            stays[index] = true;
        }
        at = 0;
        erase_members(v, [&](const value::Member&) { return !stays[at++]; });
    }

    void tell(const std::string& path) {
        if (found_->size() < most_told &&
            std::find(found_->begin(), found_->end(), path) == found_->end()) {
            found_->push_back(path);
        }
    }

    std::vector<std::string>* found_;
};

}  // namespace

std::vector<std::string> drop_repeated(value& v) {
    std::vector<std::string> found;
    if (!any_repeated(v)) {
        return found;
    }
    search(found).look_at(v, "");
    return found;
}

}  // namespace signalbox::k8sio::server::json
