// SPDX-License-Identifier: Apache-2.0
#include "server/schema/cel_library_cost.hpp"

#include <cmath>

namespace signalbox::k8sio::server::cel {
namespace {

/// By the place of the list, whatever made it.
number item_size(const outcome& list, const declared& self) {
    const declared* there = list.at.look(self);
    const declared* item = there == nullptr ? nullptr : there->element.get();
    return item == nullptr ? boundless : item->most;
}

/// The longest text that replacing gives.
number size_of_replaced(const outcome& in, const outcome& what, const outcome& with) {
    const number size = in.size_or_boundless();
    if (what.least == 0) {
        return sum(product(sum(size, 1), with.size_or_boundless()), size);
    }
    if (with.size_or_boundless() <= what.least) {
        return size;
    }
    const auto times = std::ceil(static_cast<double>(size) / static_cast<double>(what.least));
    const bool fits = times < static_cast<double>(boundless);
    return product(fits ? static_cast<number>(times) : boundless, with.size_or_boundless());
}

}  // namespace

number cost_of_items(const outcome& a, const declared& self) {
    if (a.is.is != shape::list) {
        return part(a.size_or_boundless(), text_factor);
    }
    const type item = item_of(a.is);
    const bool text = item.is == shape::text || item.is == shape::bytes;
    return product(a.size_or_boundless(), text ? sum(1, part(item_size(a, self), text_factor)) : 1);
}

void charge(
    const library_function& f, const std::vector<outcome>& with, const declared& self, outcome& out
) {
    // Bytes of an address, signs of a pattern.
    constexpr number address = 16, longest_pattern = 128;
    const auto size = [&](std::size_t i) { return with[i].size_or_boundless(); };
    const auto text_in_range = [&] {
        return may_be(with[1].is, shape::text) ? part(size(1), text_factor) : 0;
    };
    switch (f.costs) {
        case price::step:
            out.cost = 1;
            break;
        case price::reads:
            out.cost = part(size(0), text_factor);
            break;
        case price::reads_twice:
            out.cost = part(size(0), 2 * text_factor);
            break;
        case price::keeps_text:
            out.cost = part(size(0), text_factor);
            out.size = size(0);
            out.least = with[0].least;
            break;
        case price::quotes:
            out.cost = part(size(0), text_factor);
            out.size = sum(product(size(0), 2), 2);
            break;
        case price::to_bytes:
            out.cost = part(size(0), text_factor);
            out.size = product(size(0), 4);
            break;
        case price::compares_items:
            out.cost = cost_of_items(with[0], self);
            break;
        case price::replaces:
            out.cost = part(size(0), 2 * text_factor);
            out.size = size_of_replaced(with[0], with[1], with[2]);
            break;
        case price::splits:
            out.cost = part(size(0), 2 * text_factor);
            out.size = size(0);
            break;
        case price::joins: {
            const number items = size(0);
            out.size = product(items, item_size(with[0], self));
            if (with.size() > 1 && items > 0) {
                out.size = sum(*out.size, product(size(1), items - 1));
            }
            out.cost = part(*out.size, text_factor);
            break;
        }
        case price::finds:
            out.cost = product(part(sum(size(0), 1), text_factor), part(size(1), pattern_factor));
            out.size = size(0);
            break;
        case price::checks_name:
            out.cost = part(part(size(1), text_factor), longest_pattern * pattern_factor);
            break;
        case price::compares_pairs:
            out.cost = sum(product(size(0), size(1)), 1);
            break;
        case price::compares_pairs_twice:
            out.cost = sum(part(product(size(0), size(1)), 2), 1);
            break;
        case price::compares_address:
            out.cost = sum(part(2 * address, text_factor), text_in_range());
            break;
        case price::compares_range:
            out.cost = sum(part(2 * address, text_factor), part(address, text_factor));
            out.cost = sum(sum(out.cost, 1), text_in_range());
            break;
    }
}

}  // namespace signalbox::k8sio::server::cel
