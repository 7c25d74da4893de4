# SPDX-License-Identifier: Apache-2.0
"""The list of what an image holds, as SPDX 2.3 in JSON."""

import hashlib
from datetime import datetime, timezone


def timestamp(epoch):
    return datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _identifier(*words):
    plain = "-".join(words)
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in plain)


def _debian(package):
    purl = f"pkg:deb/debian/{package.name}@{package.version.replace('+', '%2B')}?arch={package.architecture}"
    return {
        "SPDXID": _identifier("Package", package.name),
        "name": package.name,
        "versionInfo": package.version,
        "supplier": f"Organization: {package.maintainer}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "homepage": package.homepage or "NOASSERTION",
        "sourceInfo": f"built from {package.source} {package.source_version}",
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
        ],
    }


def document(version, revision, epoch, contents, owners, built_with):
    """contents: path -> bytes of every file; owners: path -> Debian package, of files that come from one; built_with:
    packages whose code is in the program."""
    own = _identifier("Package", "signalbox")
    debian = {package.name: package for package in [*owners.values(), *built_with]}
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    files = []
    for path in sorted(contents):
        sums = {name: hashlib.new(name, contents[path]).hexdigest() for name in ("sha1", "sha256")}
        identifier = _identifier("File", sums["sha256"][:8], path.replace("/", "-"))
        files.append(
            {
                "SPDXID": identifier,
                "fileName": f"./{path}",
                "checksums": [{"algorithm": key.upper(), "checksumValue": value} for key, value in sums.items()],
                "licenseConcluded": "NOASSERTION",
                "copyrightText": "NOASSERTION",
            }
        )
        holder = _identifier("Package", owners[path].name) if path in owners else own
        relations.append((holder, "CONTAINS", identifier))
    relations += [(own, "DEPENDS_ON", _identifier("Package", name)) for name in sorted({p.name for p in owners.values()})]
    relations += [(_identifier("Package", p.name), "STATIC_LINK", own) for p in built_with]
    program = {
        "SPDXID": own,
        "name": "signalbox",
        "versionInfo": version,
        "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "sourceInfo": f"revision {revision}",
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
    }
    everything = hashlib.sha256(b"".join(hashlib.sha256(contents[path]).digest() for path in sorted(contents))).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"signalbox-{version}",
        "documentNamespace": f"urn:signalbox:image:{everything}",
        "creationInfo": {"created": timestamp(epoch), "creators": ["Tool: build_image.py"]},
        "packages": [program, *(_debian(debian[name]) for name in sorted(debian))],
        "files": files,
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations
        ],
    }
