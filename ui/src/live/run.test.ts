import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LiveRun } from "./run";

/** The browser's parts that a run needs, under the control of the test. */
class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static opened: FakeSource[] = [];
  readyState = 1;
  onopen = () => undefined;
  onmessage: (message: unknown) => void = () => undefined;
  onerror = () => undefined;
  constructor(readonly url: string) {
    super();
    FakeSource.opened.push(this);
  }
  close(): void {
    this.readyState = FakeSource.CLOSED;
  }
  send(kind: string, data: unknown): void {
    const message = Object.assign(new Event(kind), { data: JSON.stringify(data) });
    if (kind === "message") this.onmessage(message);
    else this.dispatchEvent(message);
  }
}

let frames: (() => void)[] = [];
const paint = (): void => frames.splice(0).forEach((frame) => frame());
const event = (seq: number, type = "step.started", path = "") => ({ seq, type, path, data: {}, line: null, time: "" });
const latest = (): FakeSource => {
  const source = FakeSource.opened.at(-1);
  if (!source) throw new Error("no stream");
  return source;
};

beforeEach(() => {
  FakeSource.opened = [];
  frames = [];
  vi.stubGlobal("EventSource", FakeSource);
  vi.stubGlobal("document", Object.assign(new EventTarget(), { hidden: false }));
  vi.stubGlobal("requestAnimationFrame", (frame: () => void) => frames.push(frame));
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
});
afterEach(() => vi.unstubAllGlobals());

function opened(): LiveRun {
  const live = new LiveRun("r1");
  live.open();
  latest().send("view", { seq: 1, view: { status: "running", steps: {} } });
  latest().send("message", event(1));
  paint();
  return live;
}

describe("a run that is followed", () => {
  it("is ready with the first view and asks for the newest events only", () => {
    const live = new LiveRun("r1");
    live.open();
    expect(live.ready).toBe(false);
    expect(latest().url).toBe("/api/runs/r1/events/stream?view=true&last=1000");
    latest().send("view", { seq: 1, view: { status: "queued" } });
    expect(live.ready).toBe(false);
    paint();
    expect([live.ready, live.link, live.status]).toEqual([true, "live", "queued"]);
  });

  it("applies everything that came in once per frame", () => {
    const live = opened();
    const before = live.version();
    latest().send("view", { seq: 2, patch: { steps: { a: { status: "running" } } } });
    latest().send("view", { seq: 3, patch: { steps: { a: { status: "completed" }, b: {} } } });
    latest().send("message", event(2));
    latest().send("message", event(3));
    expect(frames).toHaveLength(1);
    paint();
    expect(live.version()).toBe(before + 1);
    expect(live.view.steps).toEqual({ a: { status: "completed" }, b: {} });
    expect(live.events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("takes a new complete view and no event twice after a new connection", () => {
    const live = opened();
    latest().send("view", { seq: 9, view: { status: "completed", steps: { z: {} } } });
    latest().send("message", event(1));
    latest().send("message", event(2));
    paint();
    expect([live.status, Object.keys(live.view.steps)]).toEqual(["completed", ["z"]]);
    expect(live.events.map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it("goes on behind its last event when the page is visible again", () => {
    opened();
    document.dispatchEvent(new Event("visibilitychange"));
    expect(latest().url).toBe("/api/runs/r1/events/stream?view=true&after=1");
  });

  it("keeps only the newer events if some are missing between", () => {
    const live = opened();
    latest().send("message", event(5));
    paint();
    expect([live.events.map(({ seq }) => seq), live.complete]).toEqual([[5], false]);
  });

  it("believes the server's status until the view is newer", () => {
    const live = opened();
    latest().send("status", { status: "paused", seq: 1 });
    paint();
    expect([live.status, live.driven]).toEqual(["paused", false]);
    latest().send("view", { seq: 2, patch: { status: "running" } });
    paint();
    expect(live.status).toBe("running");
  });

  it("shows a reply while it is written, and not after its step has ended", () => {
    const live = opened();
    latest().send("delta", { path: "a", offset: 0, text: "Hel" });
    latest().send("delta", { path: "a", offset: 3, text: "lo" });
    expect(live.typing.get("a")).toBe("Hello");
    latest().send("message", event(2, "step.completed", "a"));
    paint();
    expect(live.typing.has("a")).toBe(false);
  });
});

describe("a run without a stream", () => {
  const answers = (routes: Record<string, unknown>) =>
    vi.stubGlobal("fetch", (path: string) => {
      const found = Object.entries(routes).find(([start]) => path.includes(start));
      return Promise.resolve(
        Response.json(found?.[1] ?? { error: "No such run.", hint: "", problems: [] }, { status: found ? 200 : 404 }),
      );
    });

  it("is shown as it stands", async () => {
    answers({ "/view": { seq: 7, view: { status: "running" } }, "/events": { events: [event(7)], next: null } });
    const live = new LiveRun("r1");
    live.open();
    latest().onerror();
    await vi.waitFor(() => expect([live.ready, live.link, live.events.length]).toEqual([true, "reconnecting", 1]));
    live.close();
  });

  it("that does not exist is an error", async () => {
    answers({});
    const live = new LiveRun("nowhere");
    live.open();
    latest().onerror();
    await vi.waitFor(() => expect([live.link, live.problem?.message]).toEqual(["error", "No such run."]));
  });

  it("reads the rest of its log in pages", async () => {
    answers({ "/events?after=0": { events: [event(1), event(2)], next: null } });
    const live = opened();
    latest().send("message", event(3));
    paint();
    await live.readAll();
    expect([live.complete, live.events.map(({ seq }) => seq)]).toEqual([true, [1, 2, 3]]);
  });
});
