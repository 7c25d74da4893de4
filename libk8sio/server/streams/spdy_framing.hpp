// SPDX-License-Identifier: Apache-2.0
//
// Frames of SPDY/3.1, which kubectl port-forward still speaks within a WebSocket: bytes to frames
// and frames to bytes. Flow control is left to the connection, as by the library that kubectl and
// the kubelet use, which neither sends nor heeds WINDOW_UPDATE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server {

using spdy_headers = std::vector<std::pair<std::string, std::string>>;

/// The values are those of control frames on the wire.
enum class spdy_type : std::uint16_t {
    data = 0,
    syn_stream = 1,
    syn_reply = 2,
    rst_stream = 3,
    settings = 4,
    ping = 6,
    goaway = 7,
    headers = 8,
    window_update = 9,
};

/// Of RST_STREAM.
enum class spdy_reset : std::uint32_t { protocol_error = 1, refused_stream = 3, cancel = 5 };

struct spdy_frame {
    spdy_type type = spdy_type::data;
    std::uint32_t stream = 0;  ///< of PING its id, of GOAWAY the last good stream, of SETTINGS 0
    bool fin = false;          ///< of data, syn_stream, syn_reply and headers: the last of its side
    std::uint32_t value = 0;   ///< of RST_STREAM and GOAWAY the status, of WINDOW_UPDATE the delta
    spdy_headers headers;      ///< names in small letters
    std::string_view data;     ///< valid until the next call of the reader
};

/// Frames out of bytes that come in any pieces. A data frame comes in as many frames as its bytes
/// came in pieces, `fin` with the last; other frames come whole. Frames of types that SPDY does not
/// have are left out.
class spdy_reader {
public:
    spdy_reader();
    ~spdy_reader();
    spdy_reader(const spdy_reader&) = delete;
    spdy_reader& operator=(const spdy_reader&) = delete;

    /// The next bytes; only when next() has given false. They live until it does so again.
    void feed(std::string_view bytes) { input_ = bytes; }
    /// False: more bytes are needed, or failed().
    bool next(spdy_frame& out);
    /// The peer broke the protocol or a limit; there is nothing more. Why, in words.
    bool failed() const { return !failure_.empty(); }
    const std::string& failure() const { return failure_; }

    /// A longer control frame, or header block when inflated, is refused.
    static constexpr std::size_t control_limit = 16 * 1024;

private:
    class inflater;

    bool fail(std::string why);
    /// Moves bytes to `held_` until it has that many; false if there are not enough.
    bool hold(std::size_t size);
    bool next_data(spdy_frame& out);
    /// Of the frame in `held_`. `headers_at`: where headers begin in its body; 0: there are none.
    bool read_control(spdy_frame& out, std::size_t headers_at);
    bool read_headers(std::string_view block, spdy_headers& out);

    std::string_view input_;
    std::string held_;           // of a frame that is not whole
    std::uint32_t stream_ = 0;   // of the data frame that is being read
    std::size_t data_left_ = 0;  // of it
    bool in_data_ = false;
    bool data_fin_ = false;
    std::size_t skip_left_ = 0;  // of a control frame that is left out
    std::unique_ptr<inflater> inflater_;
    std::string failure_;
};

/// Bytes of frames. Those with headers must be sent in the order in which they were made.
class spdy_writer {
public:
    spdy_writer();
    ~spdy_writer();
    spdy_writer(const spdy_writer&) = delete;
    spdy_writer& operator=(const spdy_writer&) = delete;

    /// `type`: syn_stream or syn_reply. Names in small letters.
    std::string opening(
        spdy_type type, std::uint32_t stream, const spdy_headers& headers, bool fin = false
    );
    /// At most 16 MiB of data.
    static std::string data(std::uint32_t stream, std::string_view bytes, bool fin = false);
    static std::string reset(std::uint32_t stream, spdy_reset why);
    static std::string ping(std::uint32_t id);
    /// For a protocol error.
    static std::string goaway(std::uint32_t last_good_stream);

private:
    class deflater;
    std::unique_ptr<deflater> deflater_;
};

}  // namespace signalbox::k8sio::server
