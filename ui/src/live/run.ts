import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { Problem, api, problemOf } from "../api/client";
import { number, record, text, type LogEvent } from "../fold/events";
import { RunFold, type Status } from "../fold/run";

export type Link = "loading" | "live" | "reconnecting" | "error";
const PAGE = 5000;
const AGAIN_MS = [500, 1000, 2000, 5000];

/** A run's log, read in pages and then followed; what comes in is folded once per frame of the screen. */
export class LiveRun {
  readonly fold = new RunFold();
  /** Replies that are being written, by step: not in the log, and gone when they are. */
  readonly typing = new Map<string, string>();
  link: Link = "loading";
  problem: Problem | null = null;
  /** What the server says, where it is more than the log tells: a driver that died, for example. */
  private told: Status | null = null;
  private toldSeq = 0;
  private waiting: LogEvent[] = [];
  private frame = 0;
  private tick = 0;
  private failures = 0;
  private source: EventSource | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly watchers = new Set<() => void>();
  private readonly stopped = new AbortController();

  constructor(readonly id: string) {
    document.addEventListener("visibilitychange", this.seen, { signal: this.stopped.signal });
  }

  /** Browsers allow six connections to a server over all tabs: one that nobody looks at gives its own back. */
  private readonly seen = (): void => {
    if (!this.source) return;
    this.source.close();
    clearTimeout(this.timer);
    if (!document.hidden) this.follow();
  };

  get status(): Status {
    return this.told !== null && this.toldSeq >= this.fold.lastSeq ? this.told : this.fold.status;
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  readonly version = (): number => this.tick;

  async open(): Promise<void> {
    try {
      for (let after: number | null = this.fold.lastSeq; after !== null;) {
        const page: { events: LogEvent[]; next: number | null } = await api.events(
          this.id,
          after,
          PAGE,
          this.stopped.signal,
        );
        this.fold.apply(page.events);
        after = page.next;
        this.changed();
      }
      this.follow();
    } catch (error) {
      if (this.stopped.signal.aborted) return;
      this.problem = problemOf(error);
      this.link = this.problem.status === 0 ? "reconnecting" : "error";
      this.changed();
      if (this.problem.status === 0) this.later(() => void this.open());
    }
  }

  close(): void {
    this.stopped.abort();
    this.source?.close();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
  }

  private follow(): void {
    const source = new EventSource(`/api/runs/${encodeURIComponent(this.id)}/events/stream?after=${this.fold.lastSeq}`);
    this.source = source;
    source.onopen = () => {
      this.failures = 0;
      this.link = "live";
      this.problem = null;
      this.soon();
    };
    source.onmessage = (message: MessageEvent<string>) => {
      this.waiting.push(JSON.parse(message.data) as LogEvent);
      this.soon();
    };
    source.addEventListener("delta", (message) =>
      this.type(record(JSON.parse((message as MessageEvent<string>).data))),
    );
    source.addEventListener("status", (message) => {
      const told = record(JSON.parse((message as MessageEvent<string>).data));
      this.told = text(told.status) as Status;
      this.toldSeq = number(told.seq);
      this.soon();
    });
    source.onerror = () => {
      this.link = "reconnecting";
      this.soon();
      if (source.readyState !== EventSource.CLOSED || this.stopped.signal.aborted) return;
      this.later(() => void this.again());
    };
  }

  /** The browser gave up: we go on behind the last event that we have, unless we are not let in any more. */
  private async again(): Promise<void> {
    try {
      await api.me(this.stopped.signal);
    } catch (error) {
      if (this.stopped.signal.aborted) return;
      this.problem = problemOf(error);
      if (this.problem.status === 401) {
        this.link = "error";
        this.changed();
      } else this.later(() => void this.again());
      return;
    }
    this.follow();
  }

  private later(again: () => void): void {
    const wait = AGAIN_MS[Math.min(this.failures, AGAIN_MS.length - 1)];
    this.failures += 1;
    this.timer = setTimeout(again, wait);
  }

  private type(piece: Record<string, unknown>): void {
    const path = text(piece.path);
    const before = number(piece.offset) === 0 ? "" : (this.typing.get(path) ?? "");
    this.typing.set(path, before.slice(0, number(piece.offset)) + text(piece.text));
    this.soon();
  }

  private soon(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.take();
      this.changed();
    });
  }

  private take(): void {
    if (this.waiting.length === 0) return;
    const taken = this.waiting;
    this.waiting = [];
    this.fold.apply(taken);
    for (const event of taken) {
      if (event.type === "step.completed" || event.type === "step.failed") this.typing.delete(event.path);
    }
  }

  private changed(): void {
    this.tick += 1;
    this.watchers.forEach((watcher) => watcher());
  }
}

/** A run that the page follows for as long as it is shown. */
export function useLiveRun(id: string): LiveRun | null {
  const [live, setLive] = useState<LiveRun | null>(null);
  useEffect(() => {
    const opened = new LiveRun(id);
    setLive(opened);
    void opened.open();
    return () => opened.close();
  }, [id]);
  const watch = useCallback((watcher: () => void) => live?.watch(watcher) ?? (() => undefined), [live]);
  useSyncExternalStore(watch, () => live?.version() ?? 0);
  return live?.id === id ? live : null;
}
