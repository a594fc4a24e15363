"""What a person sees and does on the page, in a real browser."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_core_python.async_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.async_api import Page

from citemesh.client.types import Span
from tests.web.page_service import CHINESE, HOSTILE, PUMP, QUESTION, Site, site

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium"),
]
PHONE = {"viewport": {"width": 375, "height": 720}, "has_touch": True, "is_mobile": True}


@pytest.fixture
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with site(tmp_path_factory.mktemp("w")) as found:
        yield found


async def until(condition: Callable[[], Any], limit_s: float = 5.0) -> None:
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.02)


async def ask(page: Page, question: str = QUESTION) -> None:
    """Asks, and waits for the answer's end."""
    turns = await page.locator(".turn").count()
    await page.fill("#question", question)
    await page.keyboard.press("Enter")
    await page.locator(".turn").nth(turns).locator(".after").wait_for()


async def test_an_answer_shows_its_sources_and_opens_the_very_place(running: Site) -> None:
    await running.put("pump", PUMP, uri="https://acme.example/pump.md")
    async with running.page() as page:
        await ask(page)
        assert await page.inner_text(".answer") == "The pump runs at 40 bar.1 It was built in 1987.1"
        assert "Pump manual" in await page.inner_text(".sources")
        marker = page.locator(".cite").first
        await marker.hover()
        await page.wait_for_selector("#card mark:has-text('40 bar')")
        await marker.click()
        mark = page.locator("#reader mark")
        await mark.wait_for()
        text = await mark.text_content() or ""
        _, whole = await running.client.documents.get("pump")
        at = whole.index(text)
        assert "The pump runs at 40 bar." in text
        assert (await running.client.documents.get("pump", span=Span(at, at + len(text))))[1] == text
        link = page.locator("#reader a")
        assert await link.get_attribute("href") == "https://acme.example/pump.md"
        await page.keyboard.press("Escape")
        assert await page.locator("#reader").is_hidden()
        assert await marker.evaluate("one => one === document.activeElement")


async def test_sources_that_nothing_cites_are_shown_to_who_asks(running: Site) -> None:
    await running.put("pump", PUMP)
    await running.put("crane", "# Crane manual\n\nThe pump of the crane is painted blue.\n")
    async with running.page() as page:
        await ask(page)
        other = page.locator(".sources li", has_text="Crane manual")
        assert await other.is_hidden()
        assert await page.locator(".sources li", has_text="Pump manual").is_visible()
        more = page.get_by_role("button", name="1 read, not cited")
        assert await more.get_attribute("aria-expanded") == "false"
        await more.click()
        assert await other.is_visible()
        assert await more.get_attribute("aria-expanded") == "true"


async def test_a_thread_is_there_again_and_goes_when_deleted(running: Site) -> None:
    await running.put("pump", PUMP)
    async with running.page() as page:
        await ask(page)
        await page.wait_for_url(re.compile("#/threads/"))
        await ask(page, "Who built it?")
        await page.reload()
        await page.locator(".turn").nth(1).wait_for()
        assert await page.locator(".turn h2").all_inner_texts() == [QUESTION, "Who built it?"]
        assert await page.locator(".turn").first.locator(".cite").count() > 0
        await page.click("nav >> text=Threads")
        page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.accept()))
        await page.click(".list >> text=Delete")
        await page.locator(".list li").wait_for(state="detached")
        await page.reload()
        await page.wait_for_selector("text=There are no threads yet")


async def test_what_a_document_or_a_model_writes_runs_nothing(running: Site) -> None:
    evil = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
    running.services.generation.deltas = ("The valve opens at 9 bar. ", f"It needs {evil} oil.")
    await running.put("bad", HOSTILE, uri="javascript:window.pwned=1", title=evil)
    async with running.page() as page:
        await ask(page, "When does the valve open?")
        assert evil in await page.inner_text(".answer")
        await page.locator(".cite").first.hover()
        await page.locator(".sources button").first.click()
        await page.wait_for_selector("#reader mark", state="attached")
        assert "<script>" in await page.inner_text("#reader pre")
        assert await page.locator("#reader a").count() == 0
        await page.keyboard.press("Escape")
        await page.click("nav >> text=Documents")
        await page.wait_for_selector(".list .open")
        assert await page.evaluate("window.pwned") is None
        assert await page.locator("img[src='x'], main script").count() == 0


async def test_files_are_taken_in_with_their_progress_and_deleted(running: Site) -> None:
    async with running.page() as page:
        await page.click("nav >> text=Documents")
        await page.wait_for_selector("text=There are no documents here yet")
        files: list[Any] = [
            {"name": "pump.md", "mimeType": "text/markdown", "buffer": PUMP.encode()},
            {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 nothing"},
            {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""},
        ]
        await page.set_input_files("#files", files)
        await page.wait_for_selector(".uploads li:has-text('pump.md'):has-text('stored, 1 passage')")
        for name in ("broken.pdf", "empty.txt"):
            await page.wait_for_selector(f".uploads li:has-text('{name}'):has-text('failed')")
        await page.wait_for_selector(".list .open:has-text('Pump manual')")
        await page.click(".list .open")
        await page.wait_for_selector("#reader pre:has-text('The pump runs at 40 bar')")
        await page.keyboard.press("Escape")
        page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.accept()))
        await page.click(".list >> text=Delete")
        await page.locator(".list .open").wait_for(state="detached")
        assert (await running.client.documents.list())[0] == ()


async def test_stop_ends_the_work_and_keeps_what_was_written(running: Site) -> None:
    await running.put("pump", PUMP)
    running.services.generation.hang = True
    async with running.page() as page:
        await page.fill("#question", QUESTION)
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".answer:has-text('40 bar')")
        await page.click("text=Stop")
        await page.wait_for_selector(".notice:has-text('Stopped')")
        assert "40 bar" in await page.inner_text(".answer")
        await until(lambda: running.services.generation.running == 0)
        running.services.generation.hang = False
        await ask(page, "And who built it?")


async def test_an_error_says_what_to_do(running: Site) -> None:
    async with running.page() as page:
        await page.route("**/v1/query", lambda route: route.abort())
        await page.fill("#question", QUESTION)
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".problem:has-text('citemesh up')")
    running.faults.clear()  # the browser itself tells of the call that failed


async def test_a_key_is_asked_for_and_shown_with_every_call(running: Site) -> None:
    seen: list[str | None] = []

    async def gate(route: Any) -> None:
        seen.append(await route.request.header_value("authorization"))
        if seen[-1] == "Bearer cm_0badcafe_secret":
            await route.continue_()
            return
        body = '{"error": {"code": "UNAUTHENTICATED", "message": "no key"}}'
        await route.fulfill(status=401, content_type="application/json", body=body)

    async with running.page() as page:
        await page.route("**/v1/**", gate)
        await page.reload()
        await page.fill("#key-text", "cm_0badcafe_secret")
        await page.click("text=Save")
        await page.wait_for_selector("#key-dialog", state="hidden")
        await page.click("nav >> text=Documents")
        await page.wait_for_selector("text=There are no documents here yet")
        assert seen[-1] == "Bearer cm_0badcafe_secret"
        assert await page.evaluate("localStorage.getItem('citemesh-key')") is None
        await page.goto(running.address + "#key=cm_0badcafe_other")
        await page.reload()
        assert "key=" not in page.url
    running.faults.clear()  # the refusals


async def test_chinese_and_emoji_are_cited_by_their_characters(running: Site) -> None:
    running.services.generation.deltas = ("水泵在四十巴下", "运行。", "每月需要加油🛢️。")
    await running.put("手册 1", CHINESE)
    async with running.page(locale="zh-CN") as page:
        assert await page.get_attribute("html", "lang") == "zh-Hans"
        await page.click("summary")
        await page.select_option("label:has-text('回答方式') select", "generated")
        await ask(page, "水泵在多少巴下运行？")
        assert "水泵在四十巴下运行。" in await page.inner_text(".answer")
        await page.locator(".cite").first.click()
        mark = page.locator("#reader mark")
        await mark.wait_for()
        assert (await mark.text_content() or "") in CHINESE
        await page.keyboard.press("Escape")
        await page.click("#language")
        await page.wait_for_selector("nav >> text=Documents")


async def test_on_a_phone_nothing_is_wider_than_the_screen(running: Site) -> None:
    await running.put("pump", PUMP + "word" * 200)
    async with running.page(**PHONE) as page:
        await ask(page)
        await page.locator(".cite").first.tap()
        await page.wait_for_selector("#reader mark")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        box = await page.locator("#reader").bounding_box()
        assert box is not None and box["width"] == 375
        await page.click("#reader >> text=Close")
        await page.click("nav >> text=Documents")
        await page.wait_for_selector(".list .open")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_is_accessible(running: Site, scheme: Any) -> None:
    await running.put("pump", PUMP)
    running.services.generation.deltas = ("The pump runs at 40 bar. ", "Whales fly to the moon.")
    async with running.page(color_scheme=scheme, bypass_csp=True) as page:
        await ask(page)
        assert await page.locator(".unsupported").count() == 1
        await page.click("summary")
        await assert_accessible(page)
        await page.locator(".cite").first.click()
        await page.wait_for_selector("#reader mark")
        await assert_accessible(page)
        for view in ("Threads", "Documents"):
            await page.click(f"nav >> text={view}")
            await page.wait_for_selector(".list li")
            await assert_accessible(page)


async def assert_accessible(page: Page) -> None:
    found = await Axe().run(page)
    grave = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert not grave, [(one["id"], [node["html"] for node in one["nodes"]]) for one in grave]


async def test_the_keyboard_alone_is_enough(running: Site) -> None:
    await running.put("pump", PUMP)
    async with running.page() as page:
        await ask(page)
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("/")
        assert await page.evaluate("document.activeElement.id") == "question"
        for _ in range(12):
            await page.keyboard.press("Shift+Tab")
            if await page.evaluate("document.activeElement.className") == "cite":
                break
        assert await page.locator("#card").is_visible()
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#reader mark")


async def test_both_languages_say_the_same_things(running: Site) -> None:
    async with running.page() as page:
        words = await page.evaluate("import('/assets/words.js').then((module) => module.WORDS)")
        assert set(words) == {"en", "zh"}
        assert words["en"].keys() == words["zh"].keys()
        names = re.compile(r"{\w+}")
        for key, text in words["en"].items():
            assert set(names.findall(text)) == set(names.findall(words["zh"][key])), key
        used = {key for file in assets() for key in re.findall(r'say\("(\w+)"', file.read_text("utf-8"))}
        assert used <= words["en"].keys()


async def test_files_come_with_a_strict_policy_and_are_revalidated(running: Site) -> None:
    async with httpx.AsyncClient(base_url=running.address) as http:
        for path in ("/", *(f"/assets/{file.name}" for file in assets() if file.name != "index.html")):
            reply = await http.get(path)
            assert reply.status_code == 200, path
            policy = reply.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
            again = await http.get(path, headers={"if-none-match": reply.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
        for path in ("/assets/nothing.js", "/assets/..%2fpage.py", "/assets/index.html"):
            assert (await http.get(path)).status_code == 404, path
        assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", (await http.get("/")).text)


def assets() -> list[Path]:
    folder = Path(__file__).parents[2] / "gateway" / "rest" / "web" / "assets"
    return sorted(folder.iterdir())
