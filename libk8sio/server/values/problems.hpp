// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with an object, collected before it is refused. The texts follow the real server's.
#pragma once

#include "k8sio/error.hpp"
#include "server/values/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// Reasons why an object is invalid, collected before answering 422. `reason` is the cause's, e.g.
/// FieldValueRequired.
class problems {
public:
    void required(std::string field, std::string_view detail = {});
    void forbidden(std::string field, std::string_view detail);
    void invalid(std::string field, const json::value& bad, std::string_view detail);
    void invalid(std::string field, std::string_view bad, std::string_view detail);
    void wrong_type(std::string field, const json::value& bad, std::string_view wanted);
    void unsupported(
        std::string field, const json::value& bad, const std::vector<std::string>& supported
    );
    void too_long(std::string field, std::size_t most);
    void too_many(std::string field, std::size_t count, std::size_t most);
    void duplicate(std::string field, const json::value& bad);
    void add(std::string reason, std::string field, std::string body);

    bool empty() const { return list_.empty(); }
    /// Whether the object is so wrong that rules over it would not be understood.
    bool forbids_rules() const;
    std::size_t size() const { return list_.size(); }
    std::vector<status_cause> take() { return std::move(list_); }

private:
    std::vector<status_cause> list_;
};

/// Each of `bad`, sentences on the text `shown`, as an invalid value of that field.
void complain(
    const std::vector<std::string>& bad,
    const std::string& field,
    std::string_view shown,
    problems& list
);

}  // namespace signalbox::k8sio::server
