"""Headless Chromium, for tests of pages."""

import shutil
from collections.abc import Iterator
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LONG = 300_000  # milliseconds: a busy machine is no fault


def started() -> Iterator[Any]:
    """Start Chromium, and close it behind the last test."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments, timeout=LONG)
        yield chromium
        chromium.close()
