// SPDX-License-Identifier: Apache-2.0
//
// What the rules of a definition may cost at worst, as the real server looks at them before it
// serves the kind (k8s.io/apiextensions-apiserver, pkg/apis/apiextensions/validation).
#pragma once

#include "server/values/json.hpp"
#include "server/values/problems.hpp"

#include <string>

namespace signalbox::k8sio::server {

/// Complains of rules whose estimate is above cel::rule_limit, and of all together if theirs is
/// above cel::schema_limit. `at`: where the schema stands in the definition. Rules that cannot be
/// read here cost nothing.
void validate_rule_costs(const json::value& schema, const std::string& at, problems& list);

}  // namespace signalbox::k8sio::server
