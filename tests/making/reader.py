"""Read a page of ours; refuse a page with elements not closed in order."""

from html.parser import HTMLParser

VOID = {"meta", "input", "br", "img", "link"}


class Reader(HTMLParser):
    """Checks that elements are closed in order; records addresses, scripts and texts by element."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.addresses, self.loaded, self.scripts, self.texts = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.addresses += [found[name] for name in ("src", "href", "data") if name in found]
        if tag in {"link", "img", "iframe", "object", "embed", "base"} or "src" in found:
            self.loaded.append(tag)
        if tag not in VOID:
            self.stack.append((tag, found.get("class", "")))

    def handle_endtag(self, tag):
        assert self.stack.pop()[0] == tag

    def handle_data(self, data):
        tags = [tag for tag, _ in self.stack]
        if "script" in tags:
            self.scripts.append(data)
        elif tags[-1:] == ["small"]:  # the rest of a cell's text
            self.texts[-1] = (*self.texts[-1][:2], f"{self.texts[-1][2]}{data.rstrip()}")
        elif data.strip() and "style" not in tags:
            self.texts.append(([name for _, name in self.stack], tags[-1], data.strip()))

    def under(self, name, tag=None):
        """Return the texts inside an element of this class (and directly in this tag)."""
        return [t for names, last, t in self.texts if name in names and tag in (None, last)]

    @property
    def text(self):
        return " ".join(text for _, _, text in self.texts)
