# SPDX-License-Identifier: Apache-2.0
"""The archive format that the kernel unpacks as its first root: cpio, "newc".

Each entry is a header of 13 eight-digit hexadecimal fields after the magic 070701, the name with
its NUL, and the content; name and content are padded so that what follows starts at a multiple of
four. An entry named TRAILER!!! ends it. Kernel: Documentation/driver-api/early-userspace/
buffer-format.rst.
"""

import stat
from collections.abc import Iterator

_END = "TRAILER!!!"


class Archive:
    """Makes an archive in memory. Folders above an entry are made when they are missing."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._names: set[str] = set()

    def folder(self, name: str, mode: int = 0o755) -> None:
        name = name.strip("/")
        if name and name not in self._names:
            self._add(name, stat.S_IFDIR | mode, b"")

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        self._add(name.strip("/"), stat.S_IFREG | mode, content)

    def link(self, name: str, target: str) -> None:
        self._add(name.strip("/"), stat.S_IFLNK | 0o777, target.encode())

    def __contains__(self, name: str) -> bool:
        return name.strip("/") in self._names

    def finish(self) -> bytes:
        """The archive. Nothing can be added after it."""
        self._entry(_END, 0, b"", 0)
        return bytes(self._data)

    def _add(self, name: str, mode: int, content: bytes) -> None:
        if not name or name == _END or ".." in name.split("/"):
            raise ValueError(f"{name!r} is no name for an entry")
        if name in self._names:
            raise ValueError(f"{name} is in the archive already")
        parent = name.rpartition("/")[0]
        if parent:
            self.folder(parent)
        self._names.add(name)
        self._entry(name, mode, content, len(self._names))

    def _entry(self, name: str, mode: int, content: bytes, inode: int) -> None:
        encoded = name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        # inode, mode, uid, gid, links, mtime, size, device and rdevice (major, minor), name size,
        # checksum (unused). Times are left out so that the same content gives the same archive.
        header = (inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        self._data += b"070701" + "".join(f"{value:08x}" for value in header).encode()
        self._data += encoded
        self._pad()
        self._data += content
        self._pad()

    def _pad(self) -> None:
        self._data += bytes(-len(self._data) % 4)


def entries(archive: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Name, mode and content of each entry of an archive."""
    at = 0
    while True:
        if archive[at : at + 6] != b"070701":
            raise ValueError(f"no cpio header at {at}")
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        content = (at + 110 + name_size + 3) // 4 * 4
        if name == _END:
            return
        yield name, mode, archive[content : content + size]
        at = (content + size + 3) // 4 * 4
