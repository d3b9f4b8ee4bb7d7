import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { Problem, api, problemOf, type LogEvent, type RunView } from "../api/client";
import { mergePatch } from "./patch";

export type Link = "loading" | "live" | "reconnecting" | "error";
export type Status = RunView["status"];
type ViewFrame = { seq: number; view: RunView } | { seq: number; patch: Record<string, unknown> };

const PAGE = 5000;
/** The first page of a long log is small, so that the reader sees something soon. */
const FIRST_PAGE = 500;
/** Events that a page reads before it follows the run; the transcript reads the others. */
const RECENT = 1000;
const RETRY_MS = [500, 1000, 2000, 5000];

/** A run as the server sends it: its view and its newest events. What comes in is applied once per frame of the screen. */
export class LiveRun {
  /** Replies that are being written, by step: not in the log, and gone when the step ends. */
  readonly typing = new Map<string, string>();
  link: Link = "loading";
  problem: Problem | null = null;
  /** The newest events, without a gap. */
  events: readonly LogEvent[] = [];
  /** Events from the first one on, while the whole log is being read. */
  earlier: readonly LogEvent[] = [];
  private currentView: RunView | null = null;
  private viewSeq = 0;
  /** The server's status, which knows more than the log: a driver that died, for example. */
  private serverStatus: Status | null = null;
  private statusSeq = 0;
  private frames: ViewFrame[] = [];
  private incoming: LogEvent[] = [];
  private animation = 0;
  private changes = 0;
  private failures = 0;
  private reading = false;
  private source: EventSource | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly watchers = new Set<() => void>();
  private readonly stopped = new AbortController();

  constructor(readonly id: string) {
    document.addEventListener("visibilitychange", this.onVisibility, { signal: this.stopped.signal });
  }

  /** The run as it stands. Pages are drawn only after the first view has come. */
  get view(): RunView {
    if (!this.currentView) throw new Error("The view was read before it came.");
    return this.currentView;
  }

  get ready(): boolean {
    return this.currentView !== null;
  }

  get status(): Status {
    return this.serverStatus !== null && this.statusSeq >= this.viewSeq ? this.serverStatus : this.view.status;
  }

  /** True when the run has ended. */
  get over(): boolean {
    return ["completed", "partial", "failed", "cancelled"].includes(this.status);
  }

  /** True if a process drives the run, or will. */
  get driven(): boolean {
    return ["running", "waiting", "queued"].includes(this.status);
  }

  /** Number of the newest event that the view includes. */
  get lastSeq(): number {
    return this.viewSeq;
  }

  /** Until when work that has no end yet lasts: now, or the last event of a run that no process drives. */
  until(now: number): number {
    return this.driven ? now : this.view.updated_ms;
  }

  /** True if `events` begins with the first event of the log. */
  get complete(): boolean {
    return (this.events[0]?.seq ?? 1) === 1;
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  readonly version = (): number => this.changes;

  open(): void {
    this.follow();
  }

  close(): void {
    this.stopped.abort();
    this.source?.close();
    cancelAnimationFrame(this.animation);
    clearTimeout(this.timer);
  }

  /** Read the events before the newest ones, for pages that show all of them. */
  async readAll(): Promise<void> {
    if (this.reading || this.complete) return;
    this.reading = true;
    try {
      const first = this.events[0]?.seq ?? 1;
      while ((this.earlier.at(-1)?.seq ?? 0) < first - 1) {
        const after = this.earlier.at(-1)?.seq ?? 0;
        const limit = Math.min(after === 0 ? FIRST_PAGE : PAGE, first - 1 - after);
        const page = await api.events(this.id, after, limit, this.stopped.signal);
        if (page.events.length === 0) break;
        this.earlier = [...this.earlier, ...page.events];
        this.changed();
      }
      this.events = [...this.earlier, ...this.events];
      this.earlier = [];
      this.changed();
    } catch (error) {
      if (this.stopped.signal.aborted) return;
      this.timer = setTimeout(() => void this.readAll(), this.retryDelay());
      if (problemOf(error).status !== 0) this.fail(problemOf(error));
    } finally {
      this.reading = false;
    }
  }

  /** Browsers allow six connections to a server over all tabs: a hidden page gives its own back. */
  private readonly onVisibility = (): void => {
    if (!this.source) return;
    this.source.close();
    clearTimeout(this.timer);
    if (!document.hidden) this.follow();
  };

  private follow(): void {
    const last = this.events.at(-1)?.seq;
    const from = last === undefined ? `last=${RECENT}` : `after=${last}`;
    const source = new EventSource(`/api/runs/${encodeURIComponent(this.id)}/events/stream?view=true&${from}`);
    this.source = source;
    const parsed = <T>(message: Event): T => JSON.parse((message as MessageEvent<string>).data) as T;
    source.onopen = () => {
      this.failures = 0;
      this.problem = null;
      if (this.ready) this.link = "live";
      this.schedule();
    };
    source.onmessage = (message) => {
      this.incoming.push(parsed<LogEvent>(message));
      this.schedule();
    };
    source.addEventListener("view", (message) => {
      this.frames.push(parsed<ViewFrame>(message));
      this.schedule();
    });
    source.addEventListener("delta", (message) => this.type(parsed<Delta>(message)));
    source.addEventListener("status", (message) => {
      const { status, seq } = parsed<{ status: Status; seq: number }>(message);
      this.serverStatus = status;
      this.statusSeq = seq;
      this.schedule();
    });
    source.onerror = () => {
      if (!this.ready) {
        source.close();
        void this.reconnect();
        return;
      }
      this.link = "reconnecting";
      this.schedule();
      if (source.readyState !== EventSource.CLOSED || this.stopped.signal.aborted) return;
      this.timer = setTimeout(() => void this.reconnect(), this.retryDelay());
    };
  }

  /** An `EventSource` does not tell why it failed: ask the server, and follow again if it answers. */
  private async reconnect(): Promise<void> {
    try {
      if (this.ready) {
        await api.me(this.stopped.signal);
        this.follow();
      } else {
        await this.readOnce();
        this.timer = setTimeout(() => this.follow(), this.retryDelay());
      }
    } catch (error) {
      if (this.stopped.signal.aborted) return;
      const problem = problemOf(error);
      if (problem.status === 401 || (problem.status !== 0 && !this.ready)) this.fail(problem);
      else {
        this.problem = problem;
        this.link = "reconnecting";
        this.changed();
        this.timer = setTimeout(() => void this.reconnect(), this.retryDelay());
      }
    }
  }

  /** Show the run as it stands where no stream is to be had: there may be too many already. */
  private async readOnce(): Promise<void> {
    const { seq, view } = await api.view(this.id, this.stopped.signal);
    const page = await api.events(this.id, Math.max(0, seq - RECENT), PAGE, this.stopped.signal);
    [this.currentView, this.viewSeq, this.events] = [view, seq, page.events];
    this.link = "reconnecting";
    this.changed();
  }

  private fail(problem: Problem): void {
    this.problem = problem;
    this.link = "error";
    this.changed();
  }

  private retryDelay(): number {
    this.failures += 1;
    return RETRY_MS[Math.min(this.failures, RETRY_MS.length) - 1] ?? 0;
  }

  private type({ path, offset, text }: Delta): void {
    const before = this.typing.get(path) ?? "";
    this.typing.set(path, before.slice(0, offset) + text);
    this.schedule();
  }

  private schedule(): void {
    if (this.animation !== 0) return;
    this.animation = requestAnimationFrame(() => {
      this.animation = 0;
      this.applyFrames();
      this.applyEvents();
      this.changed();
    });
  }

  private applyFrames(): void {
    for (const frame of this.frames) {
      if ("view" in frame) this.currentView = frame.view;
      else if (this.currentView) this.currentView = mergePatch(this.currentView, frame.patch) as RunView;
      this.viewSeq = frame.seq;
      this.link = "live";
    }
    this.frames = [];
  }

  private applyEvents(): void {
    if (this.incoming.length === 0) return;
    const last = this.events.at(-1)?.seq ?? 0;
    const added = this.incoming.filter((event) => event.seq > last);
    const gap = (added[0]?.seq ?? 0) > last + 1;
    this.events = gap ? added : [...this.events, ...added];
    for (const event of this.incoming) {
      if (event.type === "step.completed" || event.type === "step.failed") this.typing.delete(event.path);
    }
    this.incoming = [];
  }

  private changed(): void {
    this.changes += 1;
    this.watchers.forEach((watcher) => watcher());
  }
}

/** A piece of a reply that is being written. */
interface Delta {
  path: string;
  offset: number;
  text: string;
}

/** A run that the page follows for as long as it is shown. */
export function useLiveRun(id: string): LiveRun | null {
  const [live, setLive] = useState<LiveRun | null>(null);
  useEffect(() => {
    const opened = new LiveRun(id);
    setLive(opened);
    opened.open();
    return () => opened.close();
  }, [id]);
  const watch = useCallback((watcher: () => void) => live?.watch(watcher) ?? (() => undefined), [live]);
  useSyncExternalStore(watch, () => live?.version() ?? 0);
  return live?.id === id ? live : null;
}
