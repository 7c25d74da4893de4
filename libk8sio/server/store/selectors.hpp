// SPDX-License-Identifier: Apache-2.0
//
// Label and field selectors of list, watch and deletecollection.
#pragma once

#include "server/kinds/kind_info.hpp"
#include "server/store/store.hpp"
#include "server/values/refusal.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// Which objects a request is about. Made by parse; everything matches an empty one.
class selector {
public:
    static outcome<selector> parse(
        const kind_info& kind, std::string_view labels, std::string_view fields
    );
    bool matches(const record& r) const;
    bool empty() const { return labels_.empty() && fields_.empty(); }
    /// The value of `metadata.name=` if the selector has one: one lookup then does.
    std::string_view exact_name() const;

private:
    enum class op { in, not_in, exists, absent };
    struct label_term {
        std::string key;
        op what = op::exists;
        std::vector<std::string> values;
    };
    struct field_term {
        enum class source { name, ns, indexed } from = source::name;
        std::size_t index = 0;
        std::string value;
        bool equal = true;
    };
    static outcome<std::vector<label_term>> parse_labels(std::string_view text);
    static outcome<std::vector<field_term>> parse_fields(
        const kind_info& kind, std::string_view text
    );

    std::vector<label_term> labels_;
    std::vector<field_term> fields_;
};

}  // namespace signalbox::k8sio::server
