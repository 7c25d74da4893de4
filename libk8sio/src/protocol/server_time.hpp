// SPDX-License-Identifier: Apache-2.0
//
// What time it is for the API server, from the `Date` of its answers (REQUIREMENTS.md R9).
// Deadlines depend on it, and what has passed does not come back: so one wrong answer moves nothing
// far.
#pragma once

#include "k8sio/http.hpp"
#include "k8sio/time.hpp"

#include <optional>
#include <string>

namespace signalbox::k8sio::protocol {

/// True if the API server itself has answered, as far as one can tell: an object of the API with
/// 2xx, or a Status. Proxies and balancers have clocks of their own.
bool is_api_answer(const http_response& answer);

class server_time {
public:
    /// One answer of the API server. `date`: its header; `sent` and `received` bound the moment at
    /// which it was written; `local` is the machine's clock at `received`.
    void note(wall_time date, steady_time sent, steady_time received, wall_time local);
    /// The estimate; before the first answer `local`.
    wall_time at(steady_time now, wall_time local) const;
    /// A line for the log since the last call: time has jumped, or an answer was not believed.
    std::optional<std::string> take_notice();

private:
    struct doubt {
        wall_time date;
        steady_time received;  // of the first answer that said so
    };
    void anchor(wall_time date, steady_time sent, steady_time received, wall_time believed);
    void jump(wall_time date, steady_time received, wall_time believed);

    std::optional<std::pair<steady_time, wall_time>> anchor_;
    std::optional<doubt> doubt_;
    std::optional<steady_time> doubt_told_;
    std::optional<std::string> notice_;
};

}  // namespace signalbox::k8sio::protocol
