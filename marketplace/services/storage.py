"""Where bytes lie: originals under their hash, served copies under the item's id. A key never holds half a file.

Keys are generated here; a name that a contributor sent never reaches the file system.
"""

import os
from hashlib import sha256
from uuid import UUID, uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage


def store_original(content: bytes, digest: str = "") -> str:
    """Keeps the bytes as received, once per content, private. Returns the key."""
    name = digest or sha256(content).hexdigest()
    return store(f"originals/{name[:2]}/{name}", content)


def store_served(public_id: UUID, png: bytes) -> str:
    """Keeps the re-encoded copy that may be shown. Returns the key; the same item writes the same key again."""
    return store(f"served/{public_id.hex[:2]}/{public_id.hex}.png", png, replace=True)


def store(key: str, content: bytes, *, replace: bool = False) -> str:
    """Writes all of `content` under `key` or nothing: a process that dies in between leaves no torn file.

    Content-addressed keys that exist already are left alone.
    """
    if not isinstance(default_storage, FileSystemStorage):  # an object store puts whole objects
        return _put(key, content, replace=replace)
    target = f"{default_storage.location}/{key}"
    if not replace and os.path.exists(target):
        return key
    waiting = f"{target}.{uuid4().hex}"
    try:
        _write(waiting, content)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _write(waiting, content)
    os.replace(waiting, target)
    return key


def _write(path: str, content: bytes) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(content)


def _put(key: str, content: bytes, *, replace: bool) -> str:
    if default_storage.exists(key):
        if not replace:
            return key
        default_storage.delete(key)
    return default_storage.save(key, ContentFile(content))


def read(key: str) -> bytes:
    with default_storage.open(key, "rb") as file:
        return file.read()
