// SPDX-License-Identifier: Apache-2.0
#include "server/streams/spdy_framing.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <zlib.h>

namespace signalbox::k8sio::server {
namespace {

constexpr std::uint32_t control_bit = 0x80000000U;
constexpr std::uint32_t version = 3;
constexpr std::size_t head_size = 8;
constexpr unsigned fin_flag = 1;

void put_number(std::string& out, std::uint32_t n) {
    for (const int shift : {24, 16, 8, 0}) {
        out += static_cast<char>(static_cast<unsigned char>(n >> shift));
    }
}

std::uint32_t number_at(std::string_view text, std::size_t at) {
    std::uint32_t n = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
        n = n << 8U | static_cast<unsigned char>(text[i]);
    }
    return n;
}

/// What both sides begin to compress headers with: words behind their lengths, then plain text.
std::string make_dictionary() {
    static constexpr std::array words = {
        "options",
        "head",
        "post",
        "put",
        "delete",
        "trace",
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "accept-ranges",
        "age",
        "allow",
        "authorization",
        "cache-control",
        "connection",
        "content-base",
        "content-encoding",
        "content-language",
        "content-length",
        "content-location",
        "content-md5",
        "content-range",
        "content-type",
        "date",
        "etag",
        "expect",
        "expires",
        "from",
        "host",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "last-modified",
        "location",
        "max-forwards",
        "pragma",
        "proxy-authenticate",
        "proxy-authorization",
        "range",
        "referer",
        "retry-after",
        "server",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "vary",
        "via",
        "warning",
        "www-authenticate",
        "method",
        "get",
        "status",
        "200 OK",
        "version",
        "HTTP/1.1",
        "url",
        "public",
        "set-cookie",
        "keep-alive",
        "origin",
    };
    std::string out;
    for (const std::string_view word : words) {
        put_number(out, static_cast<std::uint32_t>(word.size()));
        out += word;
    }
    out +=
        "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
        "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
        "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
        "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 "
        "Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
        "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age="
        "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
    return out;
}

const std::string& dictionary() {
    static const std::string text = make_dictionary();
    return text;
}

/// What the body of a control frame has at least, and whether headers follow.
struct shape {
    spdy_type type;
    std::size_t fixed;
    bool headers;
};

const shape* shape_of(spdy_type type) {
    static constexpr std::array<shape, 8> all = {{
        {spdy_type::syn_stream, 10, true},
        {spdy_type::syn_reply, 4, true},
        {spdy_type::rst_stream, 8, false},
        {spdy_type::settings, 4, false},
        {spdy_type::ping, 4, false},
        {spdy_type::goaway, 8, false},
        {spdy_type::headers, 4, true},
        {spdy_type::window_update, 8, false},
    }};
    const auto* found =
        std::find_if(all.begin(), all.end(), [type](const shape& s) { return s.type == type; });
    return found == all.end() ? nullptr : found;
}

const Bytef* bytes_of(std::string_view text) {
    return reinterpret_cast<const Bytef*>(text.data());
}

std::string control_head(spdy_type type, std::size_t size, bool fin = false) {
    std::string out;
    put_number(out, control_bit | version << 16U | static_cast<std::uint32_t>(type));
    put_number(out, (fin ? fin_flag : 0U) << 24U | static_cast<std::uint32_t>(size));
    return out;
}

/// A control frame of numbers alone.
template <class... Numbers>
std::string numbers_frame(spdy_type type, Numbers... numbers) {
    std::string out = control_head(type, sizeof...(numbers) * 4);
    (put_number(out, numbers), ...);
    return out;
}

}  // namespace

class spdy_reader::inflater {
public:
    inflater() {
        if (::inflateInit(&stream_) != Z_OK) {
            throw std::bad_alloc();
        }
    }
    ~inflater() { ::inflateEnd(&stream_); }
    inflater(const inflater&) = delete;
    inflater& operator=(const inflater&) = delete;

    /// The whole block, or false: it is no such block, or longer than `limit`.
    bool inflate(std::string_view block, std::string& out, std::size_t limit) {
        out.resize(limit + 1);
        stream_.next_in = const_cast<Bytef*>(bytes_of(block));
        stream_.avail_in = static_cast<uInt>(block.size());
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(out.size());
        int code = ::inflate(&stream_, Z_SYNC_FLUSH);
        if (code == Z_NEED_DICT) {
            const std::string& words = dictionary();
            code =
                ::inflateSetDictionary(&stream_, bytes_of(words), static_cast<uInt>(words.size()));
            code = code == Z_OK ? ::inflate(&stream_, Z_SYNC_FLUSH) : code;
        }
        out.resize(out.size() - stream_.avail_out);
        return code == Z_OK && stream_.avail_in == 0 && out.size() <= limit;
    }

private:
    z_stream stream_{};
};

class spdy_writer::deflater {
public:
    deflater() {
        const std::string& words = dictionary();
        if (::deflateInit(&stream_, Z_BEST_COMPRESSION) != Z_OK ||
            ::deflateSetDictionary(&stream_, bytes_of(words), static_cast<uInt>(words.size())) !=
                Z_OK) {
            throw std::bad_alloc();
        }
    }
    ~deflater() { ::deflateEnd(&stream_); }
    deflater(const deflater&) = delete;
    deflater& operator=(const deflater&) = delete;

    std::string deflate(const std::string& block) {
        // Beside the bound of the data, the marks of a flush.
        std::string out(::deflateBound(&stream_, block.size()) + 64, '\0');
        stream_.next_in = const_cast<Bytef*>(bytes_of(block));
        stream_.avail_in = static_cast<uInt>(block.size());
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(out.size());
        ::deflate(&stream_, Z_SYNC_FLUSH);
        out.resize(out.size() - stream_.avail_out);
        return out;
    }

private:
    z_stream stream_{};
};

spdy_reader::spdy_reader() : inflater_(std::make_unique<inflater>()) {}
spdy_reader::~spdy_reader() = default;

bool spdy_reader::fail(std::string why) {
    failure_ = std::move(why);
    return false;
}

bool spdy_reader::hold(std::size_t size) {
    const std::size_t take = std::min(size - std::min(size, held_.size()), input_.size());
    held_ += input_.substr(0, take);
    input_.remove_prefix(take);
    return held_.size() >= size;
}

bool spdy_reader::next(spdy_frame& out) {
    while (!failed()) {
        if (in_data_) {
            return next_data(out);
        }
        const std::size_t skip = std::min(skip_left_, input_.size());
        input_.remove_prefix(skip);
        skip_left_ -= skip;
        if (skip_left_ > 0 || !hold(head_size)) {
            return false;
        }
        const std::uint32_t first = number_at(held_, 0);
        const std::uint32_t second = number_at(held_, 4);
        const std::size_t size = second & 0xffffffU;
        if ((first & control_bit) == 0) {
            stream_ = first;
            data_left_ = size;
            data_fin_ = (second >> 24U & fin_flag) != 0;
            in_data_ = true;
            held_.clear();
            continue;
        }
        if ((first >> 16U & 0x7fffU) != version) {
            return fail("a frame of another version of SPDY");
        }
        if (size > control_limit) {
            return fail("a control frame is too long");
        }
        out = spdy_frame();
        out.type = static_cast<spdy_type>(first & 0xffffU);
        out.fin = (second >> 24U & fin_flag) != 0;
        const shape* form = shape_of(out.type);
        if (form == nullptr) {
            skip_left_ = size;
            held_.clear();
            continue;
        }
        if (!hold(head_size + size)) {
            return false;
        }
        const bool good = size >= form->fixed ? read_control(out, form->headers ? form->fixed : 0)
                                              : fail("a control frame is too short");
        held_.clear();
        return good;
    }
    return false;
}

bool spdy_reader::next_data(spdy_frame& out) {
    if (data_left_ > 0 && input_.empty()) {
        return false;
    }
    out = spdy_frame();
    out.stream = stream_;
    out.data = input_.substr(0, data_left_);
    input_.remove_prefix(out.data.size());
    data_left_ -= out.data.size();
    in_data_ = data_left_ > 0;
    out.fin = data_fin_ && !in_data_;
    return true;
}

bool spdy_reader::read_control(spdy_frame& out, std::size_t headers_at) {
    const std::string_view body = std::string_view(held_).substr(head_size);
    if (out.type == spdy_type::settings) {
        return true;
    }
    out.stream = number_at(body, 0);
    if (out.type != spdy_type::ping) {
        out.stream &= ~control_bit;
    }
    if (headers_at > 0) {
        return read_headers(body.substr(headers_at), out.headers);
    }
    out.value = body.size() >= 8 ? number_at(body, 4) : 0;
    return true;
}

bool spdy_reader::read_headers(std::string_view block, spdy_headers& out) {
    std::string text;
    if (!inflater_->inflate(block, text, control_limit)) {
        return fail("a block of headers cannot be inflated");
    }
    std::string_view rest = text;
    const auto number = [&rest](std::uint32_t& n) {
        if (rest.size() < 4) {
            return false;
        }
        n = number_at(rest, 0);
        rest.remove_prefix(4);
        return true;
    };
    const auto word = [&rest, &number](std::string& into) {
        std::uint32_t size = 0;
        if (!number(size) || size > rest.size()) {
            return false;
        }
        into = rest.substr(0, size);
        rest.remove_prefix(size);
        return true;
    };
    std::uint32_t count = 0;
    bool good = number(count);
    for (std::uint32_t i = 0; good && i < count; ++i) {
        std::pair<std::string, std::string> header;
        good = word(header.first) && word(header.second);
        out.push_back(std::move(header));
    }
    return good && rest.empty() ? true : fail("a block of headers is malformed");
}

spdy_writer::spdy_writer() : deflater_(std::make_unique<deflater>()) {}
spdy_writer::~spdy_writer() = default;

std::string spdy_writer::opening(
    spdy_type type, std::uint32_t stream, const spdy_headers& headers, bool fin
) {
    std::string block;
    put_number(block, static_cast<std::uint32_t>(headers.size()));
    for (const auto& [name, value] : headers) {
        for (const std::string& text : {name, value}) {
            put_number(block, static_cast<std::uint32_t>(text.size()));
            block += text;
        }
    }
    std::string body;
    put_number(body, stream);
    if (type == spdy_type::syn_stream) {
        body.append(6, '\0');  // no associated stream, the highest priority
    }
    body += deflater_->deflate(block);
    return control_head(type, body.size(), fin) + body;
}

std::string spdy_writer::data(std::uint32_t stream, std::string_view bytes, bool fin) {
    std::string out;
    put_number(out, stream);
    put_number(out, (fin ? fin_flag : 0U) << 24U | static_cast<std::uint32_t>(bytes.size()));
    out += bytes;
    return out;
}

std::string spdy_writer::reset(std::uint32_t stream, spdy_reset why) {
    return numbers_frame(spdy_type::rst_stream, stream, static_cast<std::uint32_t>(why));
}

std::string spdy_writer::ping(std::uint32_t id) {
    return numbers_frame(spdy_type::ping, id);
}

std::string spdy_writer::goaway(std::uint32_t last_good_stream) {
    return numbers_frame(spdy_type::goaway, last_good_stream, std::uint32_t{1});
}

}  // namespace signalbox::k8sio::server
