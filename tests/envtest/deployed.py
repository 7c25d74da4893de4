# SPDX-License-Identifier: Apache-2.0
"""What a Deployment of the operator asks of the program, done on this machine instead of in a pod."""

import json
import re
import ssl
import subprocess
import urllib.request

import servers
from servers import eventually

SYSTEM = "signalbox-system"
ADDRESS = re.compile(r"(--(?:metrics|health-probe)-bind-address)=:\d+")
# In a log as text or as JSON.
SERVED = re.compile(r'serving (metrics and health|health)(?:: address=|","address":")([^\s",]+)')
TOKEN = "sesame"


def arguments(container):
    """The container's. It serves at free ports of 127.0.0.1: all replicas share these addresses here."""
    return [ADDRESS.sub(r"\1=127.0.0.1:0", word) for word in container["args"]]


def flags(container, **mounts):
    """Those behind `run`, for a program outside of a pod: it has to be told where its Lease is. `mounts`: by name of a volume
    of the container, the folder that is in its place."""
    assert container["args"][0] == "run", container["args"]
    out = [*arguments(container)[1:], f"--leader-elect-resource-namespace={SYSTEM}"]
    for mount in container.get("volumeMounts", []):
        folder = mounts[mount["name"].replace("-", "_")]
        out = [word.replace(f"={mount['mountPath']}/", f"={folder}/") for word in out]
    return out


def secrets(folder, address="127.0.0.1"):
    """Writes tls.crt, tls.key and token, for who serves at that address, into a new folder."""
    folder.mkdir()
    (folder / "token").write_text(TOKEN)
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=signalbox", "-addext", f"subjectAltName=IP:{address}"]
    command += ["-keyout", folder / "tls.key", "-out", folder / "tls.crt"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def receiver_flags(folder, address, url):
    """Of an operator that receives reports of progress there, with the files of secrets(): pods know it as `url`."""
    files = {"tls-cert-file": "tls.crt", "tls-key-file": "tls.key", "ca-file": "tls.crt"}
    return ["--with=progress", f"--progress-bind-address={address}", f"--progress-url={url}",
            *(f"--progress-{flag}={folder / file}" for flag, file in files.items())]


def address(process, what="metrics and health"):
    """Where it serves them, or `health` alone, by its log."""
    told = lambda: dict(SERVED.findall(process.log.read_text())).get(what)
    return eventually(f"{process.name} serves {what}", told)


def get(process, path, what="metrics and health", secured=None):
    """Body of a good answer. `secured`: the folder of secrets()."""
    trust = ssl.create_default_context(cafile=str(secured / "tls.crt")) if secured else None
    headers = {"Authorization": f"Bearer {TOKEN}"} if secured else {}
    url = f"{'https' if secured else 'http'}://{address(process, what)}{path}"
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=servers.PATIENCE, context=trust) as answer:
        return answer.read().decode()


def objects(plane, text):
    """The objects of YAML documents. kubectl reads them, without asking the server what they are."""
    shown = plane.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=text).stdout
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(shown.rstrip()):
        value, end = decoder.raw_decode(shown, at)
        found += value.get("items", [value])
        at = end + 1
    return found
