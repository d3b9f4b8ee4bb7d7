import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import type { LogEvent } from "../../fold/events";
import { isError, isImportant, tell } from "../../fold/telling";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { useKeys } from "../../parts/keys";
import { Empty } from "../../parts/parts";
import { clock, many } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";
import { Selected } from "./step";

const lower = new WeakMap<LogEvent, string>();
function searchable(event: LogEvent): string {
  let found = lower.get(event);
  if (found === undefined) {
    found = `${event.type} ${event.path} ${JSON.stringify(event.data)}`.toLowerCase();
    lower.set(event, found);
  }
  return found;
}

/** Every event, searchable and linkable; only the lines on screen are drawn. */
export function TranscriptTab({ live }: { live: LiveRun }) {
  const place = usePlace();
  const [words, setWords] = useState("");
  const [which, setWhich] = useState<"all" | "important" | "errors">("all");
  const box = useRef<HTMLDivElement>(null);
  const marked = /^\d+$/.test(place.hash) ? Number(place.hash) : 0;
  const version = live.fold.version;
  const shown = useMemo(() => {
    const wanted = words.trim().toLowerCase();
    return live.fold.events.filter(
      (event) =>
        (which === "all" || (which === "errors" ? isError(event) : isImportant(event))) &&
        (!wanted || searchable(event).includes(wanted)),
    );
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the fold is one object; its version tells that it grew
  }, [live, version, words, which]);
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => 30,
    overscan: 20,
  });
  useEffect(() => {
    const index = marked ? shown.findIndex((event) => event.seq === marked) : -1;
    if (index >= 0) rows.scrollToIndex(index, { align: "auto" });
    // eslint-disable-next-line react-hooks/exhaustive-deps -- only when the address changes, not with each new event
  }, [marked]);
  const open = (event: LogEvent): void => {
    const at = live.fold.steps.byPath.has(event.path) ? event.path : "";
    go(`${withQuery(place, { tab: "transcript", step: at })}#${event.seq}`, true);
  };
  const move = (by: number): void => {
    const next = shown[Math.max(0, shown.findIndex((event) => event.seq === marked) + by)];
    if (next) open(next);
  };
  useKeys({
    "/": () => document.querySelector<HTMLInputElement>("#find")?.focus(),
    e: () => {
      const next = shown.find((event) => event.seq > marked && isError(event)) ?? shown.find(isError);
      if (next) open(next);
    },
    j: () => move(1),
    k: () => move(-1),
  });
  const chosen = live.fold.events.find((event) => event.seq === marked);
  return (
    <div className="split">
      <section className="card" aria-label="Events">
        <div className="tools">
          <div className="filters">
            <div className="search">
              <Icon name="search" />
              <input
                id="find"
                type="search"
                placeholder="Search in everything  ( / )"
                aria-label="Search the transcript"
                value={words}
                onChange={(event) => setWords(event.target.value)}
              />
            </div>
            <select
              aria-label="Which events"
              value={which}
              onChange={(event) => setWhich(event.target.value as typeof which)}
            >
              <option value="all">All events</option>
              <option value="important">Important</option>
              <option value="errors">Trouble only</option>
            </select>
            <span className="quiet small" role="status">
              {many(shown.length, "event")}
            </span>
          </div>
        </div>
        {shown.length === 0 && (
          <Empty title={words ? "Nothing fits." : which === "errors" ? "No trouble so far." : "Nothing yet."} />
        )}
        <div
          className="transcript"
          ref={box}
          tabIndex={0}
          role="region"
          aria-label="Events of the run, with the arrow keys"
          onKeyDown={(event) => {
            if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
            event.preventDefault();
            move(event.key === "ArrowDown" ? 1 : -1);
          }}
        >
          <div style={{ height: rows.getTotalSize(), position: "relative" }}>
            {rows.getVirtualItems().map((item) => {
              const event = shown[item.index];
              if (!event) return null;
              const told = tell(event);
              return (
                <a
                  key={event.seq}
                  tabIndex={-1}
                  href={`#${event.seq}`}
                  className={`event ${told.weight}`}
                  aria-current={event.seq === marked ? "true" : undefined}
                  style={{ transform: `translateY(${item.start}px)` }}
                  onClick={(click) => {
                    click.preventDefault();
                    open(event);
                  }}
                >
                  <span className="num quiet">{event.seq}</span>
                  <span className="num quiet time">{clock(event.time)}</span>
                  <span className="mono kind cut">{event.type}</span>
                  <span className="mono quiet cut where">{event.path}</span>
                  <span className="cut grow">{told.line}</span>
                </a>
              );
            })}
          </div>
        </div>
      </section>
      <div className="stack">
        <Selected live={live} path={place.query.get("step")} />
        {chosen && (
          <section className="card">
            <header>
              <h2 className="grow">Event {chosen.seq}</h2>
              <span className="mono quiet">{chosen.type}</span>
            </header>
            <pre className="document" tabIndex={0}>
              {JSON.stringify(chosen.data, null, 2)}
            </pre>
          </section>
        )}
      </div>
    </div>
  );
}
