// SPDX-License-Identifier: Apache-2.0
//
// What a status says but times, by the table of its fields.
#include "api/job/kinds.hpp"
#include "jobcore/carry_out.hpp"
#include "json/json.hpp"

#include <span>

namespace signalbox::core {
namespace {

void erase_times(json::value& object, std::span<const schema::field> fields) {
    for (const schema::field& row : fields) {
        const auto member = object.FindMember(json::ref(row.name));
        if (member == object.MemberEnd()) {
            continue;
        }
        if (row.type == schema::value_type::time || row.tells_of_time) {
            object.EraseMember(member);  // the others keep their order
        } else if (row.type == schema::value_type::object) {
            erase_times(member->value, row.fields);
        } else if (row.type == schema::value_type::object_list) {
            for (json::value& item : member->value.GetArray()) {
                erase_times(item, row.fields);
            }
        }
    }
}

}  // namespace

std::size_t hash_without_times(const job_status& status, job_kind kind) {
    json::document document;
    json::parse(document, format_status(status, kind));
    erase_times(document, schema::schema_of(kind).status->fields);
    return static_cast<std::size_t>(json::measure(document).hash);
}

}  // namespace signalbox::core
