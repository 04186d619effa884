"""Make the checksums of changed folders right again, so that only their content is wrong."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from blockmix.files import seal


def reseal(folder: Path) -> None:
    """Compute the checksums of all files that the manifests below this folder list, and of the manifests."""
    manifests = [*folder.rglob("manifest.json"), *folder.rglob("run.json")]
    for manifest in manifests:
        if not manifest.is_file():
            continue
        try:
            body = json.loads(manifest.read_text())
            arrays = manifest.parent / "posterior" if manifest.name == "run.json" else manifest.parent
            for name, entry in body["files"].items():
                path = arrays / f"{name}.npy"
                if path.is_file() and isinstance(entry, dict):
                    data = path.read_bytes()
                    entry |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            body.pop("checksum", None)
            manifest.write_text(json.dumps(seal(body)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            # What was made of this manifest cannot be sealed.
            continue
