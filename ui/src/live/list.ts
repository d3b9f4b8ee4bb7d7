import { useEffect, useState } from "react";
import { api, type RunSummary } from "../api/client";

/** The list of runs as it changes: one stream for all parts of the page that watch it. */
const watchers = new Set<(run: RunSummary) => void>();
let source: EventSource | null = null;

// Browsers allow six connections to a server over all tabs: a hidden page gives its own back.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    source?.close();
    source = null;
  } else if (watchers.size > 0 && !source) {
    source = open();
    back.forEach((again) => again());
  }
});

/** Reloads for when the page is visible again: the stream was closed meanwhile. */
const back = new Set<() => void>();
export function onReturn(again: () => void): () => void {
  back.add(again);
  return () => back.delete(again);
}

export function watchRuns(watcher: (run: RunSummary) => void): () => void {
  watchers.add(watcher);
  source ??= open();
  return () => {
    watchers.delete(watcher);
    if (watchers.size > 0) return;
    source?.close();
    source = null;
  };
}

function open(): EventSource {
  const opened = new EventSource("/api/runs/stream");
  opened.addEventListener("run", (message) => {
    const run = JSON.parse((message as MessageEvent<string>).data) as RunSummary;
    watchers.forEach((watcher) => watcher(run));
  });
  opened.onerror = () => {
    if (opened.readyState !== EventSource.CLOSED) return;
    setTimeout(() => {
      if (source === opened) source = watchers.size > 0 ? open() : null;
    }, 3000);
  };
  return opened;
}

/** Number of runs that wait for a person; also in the page title, unless a run page has set its name there. */
export function useWaitingCount(): number {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const ask = (): void =>
      void api.runs(new URLSearchParams({ needs_you: "true", limit: "100" })).then(
        (page) => setIds(new Set(page.runs.map((run) => run.run_id))),
        () => undefined, // the page itself tells when the server is away
      );
    ask();
    const forget = onReturn(ask);
    const stop = watchRuns((run) =>
      setIds((before) => {
        if ((run.status === "waiting") === before.has(run.run_id)) return before;
        const next = new Set(before);
        if (run.status === "waiting") next.add(run.run_id);
        else next.delete(run.run_id);
        return next;
      }),
    );
    return () => {
      stop();
      forget();
    };
  }, []);
  return ids.size;
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Podium` : "Podium";
  }, [title]);
}
