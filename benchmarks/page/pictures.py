"""Takes pictures of every view of the live page: python -m benchmarks.page.pictures PLACE OUT.

PLACE is an argument of `aomg web`, such as the configuration that `aomg demo --keep FOLDER` wrote. Each view is taken
in light and dark, wide and narrow; the README has the overview, wide and light.
"""

import argparse
from pathlib import Path

import httpx

from aomg.evaluation.report.pictures import browser
from benchmarks.page.live_page import served

SIZES = {"wide": (1440, 900), "narrow": (390, 844)}
SETTLED = 1500  # milliseconds for the plots to be drawn


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page.pictures", description=__doc__)
    parser.add_argument("place", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with served(options.place) as (address, _), browser() as chromium:
        for name, path in _views(address).items():
            for size, (width, height) in SIZES.items():
                for theme in ("light", "dark"):
                    page = chromium.new_page(
                        viewport={"width": width, "height": height}, color_scheme=theme, timezone_id="UTC"
                    )
                    page.goto(address + path)
                    page.wait_for_selector("main :is(.row, .card, .panel, svg)")
                    page.wait_for_timeout(SETTLED)
                    file = options.out / f"{name}-{size}-{theme}.png"
                    page.screenshot(path=file, full_page=name != "overview")
                    page.close()
                    print(file)


def _views(address: str) -> dict[str, str]:
    """Return the address of each view; the key is that of the oldest alert, otherwise the first."""
    alerts = [alert["link"] for alert in httpx.get(f"{address}/api/alerts").json().get("alerts", []) if alert["link"]]
    if alerts:
        query, key = alerts[-1]["query"], alerts[-1]["key"]
    else:
        answer = httpx.get(f"{address}/api/keys?limit=1").json()
        query, key = answer["query"], answer["rows"][0]["key"]
    parameters = httpx.QueryParams({"query": query, **{f"key.{name}": value for name, value in key.items()}})
    return {"overview": "/", "key": f"/key?{parameters}", "alerts": "/alerts", "health": "/health"}


if __name__ == "__main__":
    main()
