"""Opens pages in a browser that the tests of a module share."""

from urllib.parse import urlsplit

import pytest

WAIT = 15_000


@pytest.fixture
def opened(chromium):
    """Opens a page; fails at the end if anything went wrong in it or it asked another host for anything."""
    contexts, faults, requests, own = [], [], [], set()

    def open_it(address, path="", width=1440, height=900, until=".keys .row a[href]", **more):
        own.add(urlsplit(address).netloc)
        context = chromium.new_context(viewport={"width": width, "height": height}, **more)
        context.set_default_timeout(WAIT)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address + path)
        page.wait_for_selector(until)
        return page

    open_it.faults = faults
    yield open_it
    for context in contexts:
        context.close()
    assert faults == []
    assert {urlsplit(url).netloc for url in requests if not url.startswith(("data:", "blob:"))} <= own
