// SPDX-License-Identifier: Apache-2.0
#include "kubelet/names/dns_message.hpp"

#include <boost/asio/ip/address_v4.hpp>

#include <algorithm>

namespace signalbox::op::kubelet {

namespace {

constexpr std::size_t header_size = 12;
constexpr std::size_t name_limit = 255;
constexpr std::size_t label_limit = 63;
/// Of an answer: what passes through any network in one piece. Resolvers of glibc and musl take it
/// unasked. Addresses beyond are left out.
constexpr std::size_t message_limit = 1232;
/// Of answers: a pod that comes back has another address.
constexpr std::uint32_t seconds_to_live = 5;

constexpr std::uint16_t type_a = 1, type_cname = 5, type_aaaa = 28, type_any = 255;
constexpr std::uint16_t class_in = 1;

enum class code : std::uint8_t {
    none = 0,
    malformed = 1,
    server_failure = 2,
    no_such_name = 3,
    not_implemented = 4,
};

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
    return static_cast<std::uint16_t>(
        static_cast<unsigned char>(bytes[at]) << 8U | static_cast<unsigned char>(bytes[at + 1])
    );
}

void append_number(std::string& to, std::uint16_t n) {
    to += static_cast<char>(n >> 8U);
    to += static_cast<char>(n & 0xFFU);
}

struct question {
    std::string name;  ///< lower case, without the last dot
    std::uint16_t type = 0, in = 0;
    std::size_t end = 0;  ///< of the question in the message
};

/// Nothing if it is cut off or has what a question must not have.
std::optional<question> read_question(std::string_view message) {
    question out;
    std::size_t at = header_size;
    while (true) {
        if (at >= message.size()) {
            return std::nullopt;
        }
        const std::size_t length = static_cast<unsigned char>(message[at]);
        ++at;
        if (length == 0) {
            break;
        }
        // More than 63 would be a reference to a name before, of which there is none.
        if (length > label_limit || at + length > message.size()) {
            return std::nullopt;
        }
        out.name += out.name.empty() ? "" : ".";
        for (const char c : message.substr(at, length)) {
            out.name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
        at += length;
        if (out.name.size() > name_limit) {
            return std::nullopt;
        }
    }
    if (at + 4 > message.size()) {
        return std::nullopt;
    }
    out.type = number_at(message, at);
    out.in = number_at(message, at + 2);
    out.end = at + 4;
    return out;
}

/// Header and question of `query` as the beginning of an answer.
std::string begin_answer(std::string_view query, std::size_t question_end, code result) {
    std::string out(query.substr(0, 2));
    const auto flags = static_cast<unsigned char>(query[2]);
    out += static_cast<char>(0x84U | (flags & 0x79U));  // an answer, ours; opcode and RD as asked
    out += static_cast<char>(0x80U | static_cast<unsigned char>(result));  // RA
    append_number(out, question_end > header_size ? 1 : 0);
    append_number(out, 0);
    append_number(out, 0);
    append_number(out, 0);
    out += query.substr(header_size, question_end - header_size);
    return out;
}

std::string encode_name(std::string_view name) {
    std::string out;
    while (!name.empty()) {
        const std::size_t end = std::min(name.find('.'), name.size());
        const std::string_view label = name.substr(0, std::min(end, label_limit));
        out += static_cast<char>(label.size());
        out += label;
        name.remove_prefix(std::min(end + 1, name.size()));
    }
    out += '\0';
    return out;
}

void count_answer(std::string& message) {
    const auto n = static_cast<std::uint16_t>(number_at(message, 6) + 1);
    message[6] = static_cast<char>(n >> 8U);
    message[7] = static_cast<char>(n & 0xFFU);
}

/// `owner`: where in the message its name stands.
void add_record(
    std::string& message, std::size_t owner, std::uint16_t type, std::string_view data
) {
    if (message.size() + data.size() + header_size > message_limit) {
        return;
    }
    append_number(message, static_cast<std::uint16_t>(0xC000U | owner));
    append_number(message, type);
    append_number(message, class_in);
    append_number(message, static_cast<std::uint16_t>(seconds_to_live >> 16U));
    append_number(message, static_cast<std::uint16_t>(seconds_to_live & 0xFFFFU));
    append_number(message, static_cast<std::uint16_t>(data.size()));
    message += data;
    count_answer(message);
}

std::string address_bytes(const std::string& address) {
    boost::system::error_code wrong;
    const auto parsed = boost::asio::ip::make_address_v4(address, wrong);
    if (wrong) {
        return {};
    }
    std::string out;
    for (const unsigned char byte : parsed.to_bytes()) {
        out += static_cast<char>(byte);
    }
    return out;
}

std::string addresses_answer(
    std::string_view query, const question& q, const std::vector<std::string>& addresses
) {
    std::string out = begin_answer(query, q.end, code::none);
    if (q.in == class_in && (q.type == type_a || q.type == type_any)) {
        for (const std::string& a : addresses) {
            if (const std::string bytes = address_bytes(a); !bytes.empty()) {
                add_record(out, header_size, type_a, bytes);
            }
        }
    }
    return out;
}

/// What is asked for is another name, and that has these addresses.
std::string alias_answer(
    std::string_view query,
    const question& q,
    const std::string& alias,
    const std::vector<std::string>& addresses
) {
    std::string out = begin_answer(query, q.end, code::none);
    const std::string name = encode_name(alias);
    add_record(out, header_size, type_cname, name);
    const std::size_t owner = out.size() - name.size();
    for (const std::string& a : addresses) {
        const std::string bytes = address_bytes(a);
        if (!bytes.empty() && (q.type == type_a || q.type == type_any)) {
            add_record(out, owner, type_a, bytes);
        }
    }
    return out;
}

std::string failure(std::string_view query, const question& q, code why) {
    return begin_answer(query, q.end, why);
}

/// The query with another name, without whatever followed the question.
std::string ask_for(std::string_view query, const question& q, const std::string& name) {
    std::string out(query.substr(0, header_size));
    std::fill(out.begin() + 6, out.end(), '\0');
    out += encode_name(name);
    out += query.substr(q.end - 4, 4);
    return out;
}

/// Behind a name, which may end in a reference. Nothing if it is cut off.
std::optional<std::size_t> skip_name(std::string_view message, std::size_t at) {
    while (at < message.size()) {
        const auto length = static_cast<unsigned char>(message[at]);
        if (length >= 0xC0U) {
            return at + 2;
        }
        at += 1U + length;
        if (length == 0) {
            return at;
        }
    }
    return std::nullopt;
}

/// Data of the answer's records of one type, whatever their names.
std::vector<std::string_view> records_of(std::string_view message, std::uint16_t type) {
    std::vector<std::string_view> out;
    const auto asked = message.size() >= header_size ? read_question(message) : std::nullopt;
    if (!asked) {
        return out;
    }
    std::size_t at = asked->end;
    for (std::uint16_t left = number_at(message, 6); left > 0; --left) {
        const auto behind = skip_name(message, at);
        constexpr std::size_t fixed = 10;
        if (!behind || *behind + fixed > message.size()) {
            break;
        }
        const std::size_t length = number_at(message, *behind + 8);
        at = *behind + fixed + length;
        if (at > message.size()) {
            break;
        }
        if (number_at(message, *behind) == type) {
            out.push_back(message.substr(*behind + fixed, length));
        }
    }
    return out;
}

}  // namespace

std::optional<std::uint16_t> id_of(std::string_view message) {
    return message.size() < 2 ? std::nullopt : std::optional(number_at(message, 0));
}

std::string with_id(std::string_view message, std::uint16_t id) {
    std::string out;
    append_number(out, id);
    out += message.substr(2);
    return out;
}

dns_reply answer_query(std::string_view query, const name_lookup& find, bool offline) {
    using kind = dns_reply::kind;
    if (query.size() < header_size || (static_cast<unsigned char>(query[2]) & 0x80U) != 0) {
        return {};
    }
    const unsigned opcode = (static_cast<unsigned char>(query[2]) >> 3U) & 0x0FU;
    if (opcode != 0) {
        return {kind::send, begin_answer(query, header_size, code::not_implemented), {}};
    }
    const auto q = number_at(query, 4) == 1 ? read_question(query) : std::nullopt;
    if (!q) {
        return {kind::send, begin_answer(query, header_size, code::malformed), {}};
    }
    if (!cluster_names::is_ours(q->name)) {
        return offline ? dns_reply{kind::send, failure(query, *q, code::no_such_name), {}}
                       : dns_reply{kind::forward, std::string(query), {}};
    }
    const name_result found = find(q->name);
    if (!found.found) {
        return {kind::send, failure(query, *q, code::no_such_name), {}};
    }
    if (found.alias.empty()) {
        return {kind::send, addresses_answer(query, *q, found.addresses), {}};
    }
    if (cluster_names::is_ours(found.alias)) {
        return {kind::send, alias_answer(query, *q, found.alias, find(found.alias).addresses), {}};
    }
    if (offline) {
        return {kind::send, failure(query, *q, code::no_such_name), {}};
    }
    return {kind::forward, ask_for(query, *q, found.alias), found.alias};
}

std::string forwarded_reply(
    std::string_view query, const std::string& alias, std::string_view answer
) {
    const auto q = read_question(query);
    if (answer.size() < header_size) {
        return failure(query, q.value_or(question{{}, 0, 0, header_size}), code::server_failure);
    }
    if (alias.empty() || !q) {
        return with_id(answer, id_of(query).value_or(0));
    }
    std::string out = begin_answer(query, q->end, code::none);
    const std::string name = encode_name(alias);
    add_record(out, header_size, type_cname, name);
    const std::size_t owner = out.size() - name.size();
    if (q->type == type_a || q->type == type_aaaa) {
        for (const std::string_view data : records_of(answer, q->type)) {
            add_record(out, owner, q->type, data);
        }
    }
    return out;
}

}  // namespace signalbox::op::kubelet
