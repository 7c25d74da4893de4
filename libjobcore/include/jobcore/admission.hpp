// SPDX-License-Identifier: Apache-2.0
//
// What a scheduler of quota has given a job (BEHAVIOUR.md 8.11): a part of the job's status, and
// what its pods get beside their templates. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

/// Of each of the lists of marks: what is beyond is not read.
inline constexpr std::size_t most_marks = 64;

/// A label, an annotation, an entry of a node selector.
struct named_value {
    std::string name;
    std::string value;
    friend bool operator==(const named_value&, const named_value&) = default;
};

/// A toleration of a pod, as the Kubernetes API has it. Empty texts are left out.
struct toleration {
    std::string key;
    std::string op;
    std::string value;
    std::string effect;
    std::optional<std::int64_t> seconds;
    friend bool operator==(const toleration&, const toleration&) = default;
};

/// What pods of a type get by an admission: of its flavours and of its checks.
struct admitted_marks {
    std::vector<named_value> node_selector{};
    std::vector<named_value> labels{};
    std::vector<named_value> annotations{};
    std::vector<toleration> tolerations{};
    friend bool operator==(const admitted_marks&, const admitted_marks&) = default;
};

/// What was admitted of a replica type.
struct admitted_type {
    std::string type;
    std::int32_t count = 0;  ///< pods that may run
    std::int32_t asked = 0;  ///< that were asked for; more than `count`: it was admitted in part
    admitted_marks marks{};
    friend bool operator==(const admitted_type&, const admitted_type&) = default;
};

/// An admission, for as long as it lasts.
struct admission_record {
    std::string uid;    ///< of the object that was admitted
    std::string since;  ///< when its quota was reserved, in the words of the object
    std::vector<admitted_type> types;

    /// Null: it has none of that type. Valid as long as this object.
    const admitted_type* find(std::string_view type) const {
        for (const admitted_type& t : types) {
            if (t.type == type) {
                return &t;
            }
        }
        return nullptr;
    }
    friend bool operator==(const admission_record&, const admission_record&) = default;
};

}  // namespace signalbox::core
