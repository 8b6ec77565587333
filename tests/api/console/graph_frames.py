"""`python -m tests.api.console.graph_frames`: frames a second of the memory graph while it is moved, in Chromium."""

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.console_user import console_session

MEMORIES, NAMES = 1800, 200
SIZE = (1440, 900)
SCRIPT = """
const [memories, names, seconds] = arguments[0];
const done = (value) => { window.framesMeasured = value; };
const start = Date.parse("2024-01-01"), day = 86400000;
const iso = (at) => new Date(at).toISOString();
const answer = {
  memories: Array.from({ length: memories }, (_, at) => ({ id: `x${at}`, memory: `Memory number ${at} of somebody`,
    createdAt: iso(start + at * day / 3), endedAt: at % 3 === 0 ? iso(start + at * day / 3 + 90 * day) : null })),
  names: Array.from({ length: names }, (_, at) => ({ name: `Name${at}`,
    memories: Array.from({ length: 14 }, (_, step) => (at * 9 + step * (step < 9 ? 1 : 131)) % memories) })),
  relations: Array.from({ length: memories / 3 }, (_, at) => ({ source: at * 3, target: (at * 3 + 7) % memories,
    kind: ["updates", "extends", "derives"][at % 3] })),
};
const place = document.createElement("div");
place.className = "canvas";
document.querySelector("#main").replaceChildren(place);
const frames = (move) => new Promise((resolve) => {
  const times = [];
  const tick = (now) => {
    times.push(now);
    if (now - times[0] > seconds * 1000) return resolve({ fps: (times.length - 1) / (now - times[0]) * 1000,
      longest: Math.max(...times.slice(1).map((at, index) => at - times[index])) });
    move((now - times[0]) / (seconds * 1000));
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
});
const mouse = (target, name, x, y, buttons) => target.dispatchEvent(new MouseEvent(name, { bubbles: true,
  cancelable: true, clientX: x, clientY: y, button: 0, buttons, view: window }));
(async () => {
  const { src } = document.querySelector("script[type=module]");
  const { GraphView } = await import(new URL("./parts/graph-view.js", src));
  const view = new GraphView(place, answer, () => {});
  await frames(() => {});
  const box = place.getBoundingClientRect();
  const [x, y] = [box.left + 40, box.top + 40];
  const results = { still: await frames(() => {}) };
  results.slider = await frames((part) => view.showAt(start + part * 600 * day));
  await frames(() => {});
  const target = place.querySelector("canvas:last-of-type") ?? place;
  mouse(target, "mousedown", x, y, 1);
  results.pan = await frames((part) => mouse(window, "mousemove", x + 200 * Math.sin(part * 9), y + 150 * part, 1));
  mouse(window, "mouseup", x, y, 0);
  results.zoom = await frames((part) => target.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true,
    clientX: box.left + box.width / 2, clientY: box.top + box.height / 2,
    deltaY: Math.sin(part * 20) > 0 ? 40 : -40 })));
  done(results);
})().catch((error) => done({ error: String(error) }));
"""


async def _measure(seconds: float) -> dict[str, object]:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with console_session(Path(folder)) as visitor:
            await visitor.browser.set_viewport(*SIZE)
            await visitor.open_signed_in("#/namespaces")
            await visitor.browser.execute(SCRIPT, [MEMORIES, NAMES, seconds])
            measured: dict[str, object] = await visitor.browser.wait_until("return window.framesMeasured")
            return measured


def main() -> None:
    """Print frames a second and the longest frame (ms), with the load of the machine."""
    measured = asyncio.run(_measure(float(sys.argv[1]) if len(sys.argv) > 1 else 4.0))
    report = {**measured, "nodes": MEMORIES + NAMES, "load": os.getloadavg()[0]}
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
