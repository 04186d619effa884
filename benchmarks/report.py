"""How long a report takes to write and to open in a browser.

    python benchmarks/report.py RESULT [--repeats 5]

RESULT is a folder written by `blockmix fit -o`. Needs selenium and Debian's chromium and chromium-driver, or a Chrome
that selenium finds. A page is open when its `load` event has passed and the browser answers a question; the goal for
300,000 nodes is 3 s.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import blockmix as bm

FLAGS = (
    "--headless=new", "--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-sync",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--window-size=1280,900",
)  # fmt: skip


def browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    if shutil.which("chromium"):
        options.binary_location = shutil.which("chromium")
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    post = bm.load(options.result)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        path = post.report(Path(folder, "report.html"))
        print(f"written in {time.perf_counter() - began:.1f} s, {path.stat().st_size / 1e6:.1f} MB")
        page = browser()
        try:
            seconds = []
            for _ in range(options.repeats):
                page.get("about:blank")
                began = time.perf_counter()
                page.get(path.as_uri())
                page.execute_script("return document.title")
                seconds.append(time.perf_counter() - began)
        finally:
            page.quit()
    print("opened in " + ", ".join(f"{s:.2f}" for s in seconds) + " s")


if __name__ == "__main__":
    main()
