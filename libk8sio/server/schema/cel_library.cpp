// SPDX-License-Identifier: Apache-2.0
#include "server/schema/cel_library.hpp"

#include <algorithm>
#include <array>

namespace signalbox::k8sio::server::cel {
namespace {

constexpr bool of_object = true, of_nothing = false;

constexpr std::array library_functions{
    // Texts.
    library_function{"charAt", of_object, 1, 1, price::step, shape::text},
    library_function{"format", of_object, 1, 1, price::reads, shape::text},
    library_function{"indexOf", of_object, 1, 2, price::compares_items, shape::integer},
    library_function{"join", of_object, 0, 1, price::joins, shape::text},
    library_function{"lastIndexOf", of_object, 1, 2, price::compares_items, shape::integer},
    library_function{"lowerAscii", of_object, 0, 0, price::keeps_text, shape::text},
    library_function{"replace", of_object, 2, 3, price::replaces, shape::text},
    library_function{"split", of_object, 1, 2, price::splits, shape::list},
    library_function{"strings.quote", of_nothing, 1, 1, price::quotes, shape::text},
    library_function{"substring", of_object, 1, 2, price::keeps_text, shape::text},
    library_function{"trim", of_object, 0, 0, price::keeps_text, shape::text},
    library_function{"upperAscii", of_object, 0, 0, price::keeps_text, shape::text},
    // Patterns.
    library_function{"find", of_object, 1, 1, price::finds, shape::text},
    library_function{"findAll", of_object, 1, 2, price::finds, shape::list},
    // Lists.
    library_function{"isSorted", of_object, 0, 0, price::compares_items, shape::boolean},
    library_function{"sets.contains", of_nothing, 2, 2, price::compares_pairs, shape::boolean},
    library_function{
        "sets.equivalent", of_nothing, 2, 2, price::compares_pairs_twice, shape::boolean},
    library_function{"sets.intersects", of_nothing, 2, 2, price::compares_pairs, shape::boolean},
    // Other forms of values.
    library_function{"bool", of_nothing, 1, 1, price::step, shape::boolean},
    library_function{"bytes", of_nothing, 1, 1, price::to_bytes, shape::bytes},
    library_function{"double", of_nothing, 1, 1, price::step, shape::real},
    library_function{"duration", of_nothing, 1, 1, price::step, shape::duration},
    library_function{"timestamp", of_nothing, 1, 1, price::step, shape::moment},
    library_function{"type", of_nothing, 1, 1, price::step, shape::dynamic},
    library_function{"uint", of_nothing, 1, 1, price::step, shape::integer},
    // Times.
    library_function{"getDate", of_object, 0, 1, price::step, shape::integer},
    library_function{"getDayOfMonth", of_object, 0, 1, price::step, shape::integer},
    library_function{"getDayOfWeek", of_object, 0, 1, price::step, shape::integer},
    library_function{"getDayOfYear", of_object, 0, 1, price::step, shape::integer},
    library_function{"getFullYear", of_object, 0, 1, price::step, shape::integer},
    library_function{"getHours", of_object, 0, 1, price::step, shape::integer},
    library_function{"getMilliseconds", of_object, 0, 1, price::step, shape::integer},
    library_function{"getMinutes", of_object, 0, 1, price::step, shape::integer},
    library_function{"getMonth", of_object, 0, 1, price::step, shape::integer},
    library_function{"getSeconds", of_object, 0, 1, price::step, shape::integer},
    // Addresses of the web.
    library_function{"isURL", of_nothing, 1, 1, price::step, shape::boolean},
    library_function{"url", of_nothing, 1, 1, price::keeps_text, shape::link},
    library_function{"getEscapedPath", of_object, 0, 0, price::step, shape::text},
    library_function{"getHost", of_object, 0, 0, price::step, shape::text},
    library_function{"getHostname", of_object, 0, 0, price::step, shape::text},
    library_function{"getPort", of_object, 0, 0, price::step, shape::text},
    library_function{"getQuery", of_object, 0, 0, price::step, shape::map},
    library_function{"getScheme", of_object, 0, 0, price::step, shape::text},
    // Addresses of the Internet Protocol.
    library_function{"cidr", of_nothing, 1, 1, price::reads, shape::opaque},
    library_function{"ip", of_nothing, 1, 1, price::reads, shape::opaque},
    library_function{"ip.isCanonical", of_nothing, 1, 1, price::reads_twice, shape::boolean},
    library_function{"isCIDR", of_nothing, 1, 1, price::reads, shape::boolean},
    library_function{"isIP", of_nothing, 1, 1, price::reads, shape::boolean},
    library_function{"containsCIDR", of_object, 1, 1, price::compares_range, shape::boolean},
    library_function{"containsIP", of_object, 1, 1, price::compares_address, shape::boolean},
    library_function{"family", of_object, 0, 0, price::step, shape::integer},
    library_function{"ip", of_object, 0, 0, price::step, shape::opaque},
    library_function{"isGlobalUnicast", of_object, 0, 0, price::step, shape::boolean},
    library_function{"isLinkLocalMulticast", of_object, 0, 0, price::step, shape::boolean},
    library_function{"isLinkLocalUnicast", of_object, 0, 0, price::step, shape::boolean},
    library_function{"isLoopback", of_object, 0, 0, price::step, shape::boolean},
    library_function{"isUnspecified", of_object, 0, 0, price::step, shape::boolean},
    library_function{"masked", of_object, 0, 0, price::step, shape::opaque},
    library_function{"prefixLength", of_object, 0, 0, price::step, shape::integer},
    // Quantities and versions.
    library_function{"isQuantity", of_nothing, 1, 1, price::reads, shape::boolean},
    library_function{"isSemver", of_nothing, 1, 2, price::reads, shape::boolean},
    library_function{"quantity", of_nothing, 1, 1, price::reads, shape::opaque},
    library_function{"semver", of_nothing, 1, 2, price::reads, shape::opaque},
    library_function{"add", of_object, 1, 1, price::step, shape::opaque},
    library_function{"asApproximateFloat", of_object, 0, 0, price::step, shape::real},
    library_function{"asInteger", of_object, 0, 0, price::step, shape::integer},
    library_function{"compareTo", of_object, 1, 1, price::step, shape::integer},
    library_function{"isGreaterThan", of_object, 1, 1, price::step, shape::boolean},
    library_function{"isInteger", of_object, 0, 0, price::step, shape::boolean},
    library_function{"isLessThan", of_object, 1, 1, price::step, shape::boolean},
    library_function{"major", of_object, 0, 0, price::step, shape::integer},
    library_function{"minor", of_object, 0, 0, price::step, shape::integer},
    library_function{"patch", of_object, 0, 0, price::step, shape::integer},
    library_function{"sub", of_object, 1, 1, price::step, shape::opaque},
    // Names by their format, and what a check of one gives.
    library_function{"format.dns1035Label", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.dns1035LabelPrefix", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.dns1123Label", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.dns1123LabelPrefix", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.dns1123Subdomain", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.dns1123SubdomainPrefix", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.qualifiedName", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.labelValue", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.uri", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.uuid", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.byte", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.date", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"format.datetime", of_nothing, 0, 0, price::step, shape::opaque},
    library_function{"validate", of_object, 1, 1, price::checks_name, shape::opaque},
    library_function{"hasValue", of_object, 0, 0, price::step, shape::boolean},
};

}  // namespace

const library_function* find_library_function(
    std::string_view name, bool method, std::size_t arguments
) {
    const auto* found = std::find_if(
        library_functions.begin(),
        library_functions.end(),
        [&](const library_function& f) {
            return f.name == name && f.method == method && f.least <= arguments &&
                   arguments <= f.most;
        }
    );
    return found == library_functions.end() ? nullptr : found;
}

bool is_library_namespace(std::string_view name) {
    return std::any_of(
        library_functions.begin(),
        library_functions.end(),
        [&](const library_function& f) {
            return f.name.size() > name.size() && f.name.substr(0, name.size()) == name &&
                   f.name[name.size()] == '.';
        }
    );
}

}  // namespace signalbox::k8sio::server::cel
