# SPDX-License-Identifier: Apache-2.0
"""Tokens of a service account that end sooner than any that a server gives out: a real one with other times, signed with the
server's key. As a program it is a credential program: short_token.py KEY TOKEN SECONDS COUNT prints a credential, and adds a
line to the file COUNT."""

import base64
import json
import pathlib
import subprocess
import sys
import time

# kube-apiserver takes a token that long after its end.
LEEWAY = 60


def encoded(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def short_token(key, like, seconds):
    """A token as `like` that the server refuses after that many seconds. `key`: the file of the server's signing key."""
    head, claims, _ = like.split(".")
    claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    now = int(time.time())
    begin, end = now - 2 * LEEWAY, now + seconds - LEEWAY
    claims |= {"iat": begin, "nbf": begin, "exp": end}
    text = head + "." + encoded(json.dumps(claims).encode())
    sign = ["openssl", "dgst", "-sha256", "-sign", str(key)]
    return text + "." + encoded(subprocess.run(sign, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout)


def main():
    key, like, seconds, count = sys.argv[1:]
    end = time.gmtime(time.time() + int(seconds) - 1)  # not later than the server's, which has whole seconds
    token = short_token(key, pathlib.Path(like).read_text().strip(), int(seconds))
    with open(count, "a") as file:
        file.write("run\n")
    print(json.dumps({
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": token, "expirationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", end)},
    }))


if __name__ == "__main__":
    main()
