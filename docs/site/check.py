"""Checks the pages of a folder: every link and fragment leads somewhere, by a path that needs no server.

usage: python3 docs/site/check.py FOLDER

A link within the folder must be relative and name a file, so that the pages work from file:// and under any prefix.
Links to other hosts are not followed.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESSES = {"href", "src", "poster", "action"}


class Page(HTMLParser):
    """Places and links of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.places: set[str] = {"", "top"}
        self.links: list[tuple[int, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)
            elif name in ADDRESSES:
                self.links.append((self.getpos()[0], value))


def problems(folder: Path) -> tuple[int, list[str]]:
    """Returns the number of links, and a line for each that is broken."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    count, found = 0, []
    for path, page in pages.items():
        for line, link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            count += 1
            where = f"{path.relative_to(folder)}:{line}: `{link}`"
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            if address.path.startswith("/"):
                found.append(f"{where} begins at the root of a host")
            elif not target.is_relative_to(folder):
                found.append(f"{where} leads out of the site")
            elif not target.is_file():
                found.append(f"{where} is not a file")
            elif target.parent == folder / "play":
                # What is behind its `#` is a scenario, not a place.
                continue
            elif target in pages and unquote(address.fragment) not in pages[target].places:
                found.append(f"{where}: the page has no such place")
    return count, found


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    count, found = problems(folder)
    if found or not count:
        sys.exit("\n".join([*found, f"{len(found)} of {count} links are broken"]))
    print(f"{count} links and fragments lead somewhere")


if __name__ == "__main__":
    main()
