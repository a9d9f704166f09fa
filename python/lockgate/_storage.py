"""Stores of sweeps at addresses: object stores and others, by fsspec (`pip install lockgate[fsspec]`)."""

from __future__ import annotations

import os
import socket
from typing import Any

from ._errors import StoreError

#: Protocols whose stores write a file whole or not at all. Elsewhere, a file is written aside and renamed.
WHOLE = frozenset({"abfs", "abfss", "adl", "az", "gcs", "gs", "memory", "oci", "oss", "r2", "s3", "s3a"})


def is_address(into: str) -> bool:
    """Returns true for an address such as `s3://bucket/results`, false for the path of a directory."""
    return "://" in into


class Remote:
    """Files of a store at an address of fsspec, by names such as `parts/KEY.parquet`.

    The module's `Plan` calls it, on several threads. Errors are those of the file system: `OSError`.
    """

    def __init__(self, address: str) -> None:
        """Opens an address.

        Raises:
            StoreError: If fsspec, or the package of the address's protocol, is not installed.
        """
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise StoreError(
                f"`{address}` is an address, which fsspec opens, and fsspec is not installed\n"
                "help: pip install lockgate[fsspec]"
            ) from error
        self.address = address.rstrip("/")
        try:
            self._files, root = url_to_fs(self.address)
        except (ImportError, ValueError) as error:
            raise StoreError(
                f"`{address}`: {error}\nhelp: fsspec has the protocols: python -c 'import fsspec; "
                "print(fsspec.available_protocols())'"
            ) from error
        self._root = root.rstrip("/")
        protocol = self._files.protocol
        protocols = {protocol} if isinstance(protocol, str) else set(protocol)
        self._is_whole = not protocols.isdisjoint(WHOLE)

    def create_folder(self, folder: str) -> None:
        """Creates a folder; object stores have none."""
        self._files.makedirs(self._path(folder), exist_ok=True)

    def list_folder(self, folder: str) -> list[str]:
        """Returns the names of a folder's files and folders; of the folder "", those of the address."""
        return self._names(self._path(folder))

    def read(self, name: str) -> bytes:
        """Returns the contents of a file."""
        content: bytes = self._files.cat_file(self._path(name))
        return content

    def read_many(self, names: list[str]) -> list[bytes]:
        """Returns the contents of files, in the order of their names; read at the same time where that is faster."""
        paths = [self._path(name) for name in names]
        contents: dict[str, bytes] | bytes = self._files.cat(paths) if paths else {}
        # The keys are paths as the file system writes them.
        return [contents] if isinstance(contents, bytes) else [contents[self._strip(path)] for path in paths]

    def write(self, name: str, content: bytes) -> None:
        """Writes a file, whole or not at all."""
        path = self._path(name)
        if self._is_whole:
            self._files.pipe_file(path, content)
            return
        aside = f"{path}.{socket.gethostname()}-{os.getpid()}.tmp"
        try:
            self._files.pipe_file(aside, content)
            self._files.mv(aside, path)
        except BaseException:
            if self._files.exists(aside):
                self._files.rm_file(aside)
            raise

    def remove(self, name: str) -> None:
        """Removes a file."""
        self._files.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _strip(self, path: str) -> str:
        stripped: Any = self._files._strip_protocol(path)
        return str(stripped)

    def _names(self, folder: str) -> list[str]:
        # A cached list would be stale, because other processes write too.
        self._files.invalidate_cache()
        try:
            found: list[str] = self._files.ls(folder, detail=False)
        except FileNotFoundError:
            return []
        # Some object stores include the folder itself in its list.
        names = [path.rstrip("/").rpartition("/")[2] for path in found if path.rstrip("/") != folder]
        return names
