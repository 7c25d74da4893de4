// SPDX-License-Identifier: Apache-2.0
//
// The library behind one function: JSON in, JSON out, for programs in other languages and for tests
// that are data. The file text-api.schema.json beside this library's sources, installed in
// share/signalbox, describes both texts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace signalbox::core {
struct compiled_job;
}  // namespace signalbox::core

namespace signalbox::core::text {

/// Version of the texts, `apiVersion` of every request and response. Members may be added to
/// responses within a version; a request with a member that this version does not know is refused.
inline constexpr std::string_view api_version = "text.jobcore/v1";

/// Carries out one request: `{"apiVersion", "operation", ...}`, with the operation
///
///   validate  checks `job`, or its change from `previous`: `valid`, `findings`
///   plan      the objects that a valid `job` needs in one `attempt`: `objects`, `findings`
///   decide    decide() on `job`, `children`, `refusals`, `absences`, `capabilities`, `noRoom`,
///             `policy` and `now`: `status` or null, `defer`, `stages`, `wakeUp` or null, `events`
///   explain   explain() on the same: `lines`
///
/// Children are Kubernetes objects; those that another object owns are left out of account. A
/// request that is wrong has `errors` as its whole answer, each with a JSON pointer into the
/// request: all at once, but for a text that is no JSON. A job with a wrong specification is no
/// wrong request. What a server would refuse of the pods is an error for `validate` and `plan`, a
/// warning for the others (BEHAVIOUR.md api 6.6). Never throws but for lack of memory, whatever the
/// text: nesting deeper than 600 levels is refused without recursion. Depends on its argument
/// alone; safe from any thread.
std::string call(std::string_view request_json);

/// The same for requests about one job, again and again: `kept`, null at first, is what the call
/// before has compiled, and is replaced by what this one has; `validate`, and a wrong request,
/// leave it. It is the `previous` of read_job(): what has not changed is not compiled again, and
/// what may not change is noticed (BEHAVIOUR.md 10.2). One thread at a time for each `kept`.
std::string call(std::string_view request_json, std::shared_ptr<const compiled_job>& kept);

}  // namespace signalbox::core::text
