import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import type { LogEvent } from "../../api/client";
import { own } from "../../live/patch";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { useKeys } from "../../parts/keys";
import { Empty } from "../../parts/parts";
import { clock, many } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";
import { EventLine, isImportant, isTrouble, weightOf } from "./line";
import { Conversations } from "./messages";
import { Selected } from "./step";

const searchTexts = new WeakMap<LogEvent, string>();
function searchText(event: LogEvent): string {
  let text = searchTexts.get(event);
  if (text === undefined) {
    text = `${event.type} ${event.path} ${event.line?.text ?? ""} ${JSON.stringify(event.data)}`.toLowerCase();
    searchTexts.set(event, text);
  }
  return text;
}

type Which = "messages" | "all" | "important" | "errors";

/** All messages, or all events, searchable and linkable; only the lines on screen are drawn. */
export function TranscriptTab({ live }: { live: LiveRun }) {
  const place = usePlace();
  const [words, setWords] = useState("");
  const spoken = live.view.conversations ?? 0;
  const [chosenView, setWhich] = useState<Which | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const marked = /^\d+$/.test(place.hash) ? Number(place.hash) : 0;
  const which = chosenView ?? (spoken && !marked ? "messages" : "all");
  const { complete } = live;
  useEffect(() => {
    if (!complete) void live.readAll();
  }, [live, complete]);
  const events = complete ? live.events : live.earlier;
  const shown = useMemo(() => {
    const wanted = words.trim().toLowerCase();
    return events.filter(
      (event) =>
        (which === "all" || (which === "errors" ? isTrouble(event) : isImportant(event))) &&
        (!wanted || searchText(event).includes(wanted)),
    );
  }, [events, words, which]);
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
  }, [marked, complete]);
  const open = (event: LogEvent): void => {
    const step = own(live.view.steps, event.path) ? event.path : "";
    go(`${withQuery(place, { tab: "transcript", step })}#${event.seq}`, true);
  };
  const move = (by: number): void => {
    const next = shown[Math.max(0, shown.findIndex((event) => event.seq === marked) + by)];
    if (next) open(next);
  };
  useKeys({
    "/": () => document.querySelector<HTMLInputElement>("#find")?.focus(),
    e: () => {
      const next = shown.find((event) => event.seq > marked && isTrouble(event)) ?? shown.find(isTrouble);
      if (next) open(next);
    },
    j: () => move(1),
    k: () => move(-1),
  });
  const chosen = events.find((event) => event.seq === marked);
  return (
    <div className="split">
      <section className="card" aria-label="Events">
        <div className="tools">
          <div className="filters">
            <div className="search" hidden={which === "messages"}>
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
            <select aria-label="Which events" value={which} onChange={(event) => setWhich(event.target.value as Which)}>
              {spoken > 0 && <option value="messages">Messages</option>}
              <option value="all">All events</option>
              <option value="important">Important</option>
              <option value="errors">Trouble only</option>
            </select>
            {which !== "messages" && (
              <span className="quiet small" role="status">
                {many(shown.length, "event")}
                {!complete && ", reading the rest of the log"}
              </span>
            )}
          </div>
        </div>
        {which === "messages" && (
          <div className="transcript" tabIndex={0} role="region" aria-label="Messages of the run">
            <Conversations live={live} />
          </div>
        )}
        {which !== "messages" && shown.length === 0 && (
          <Empty title={words ? "Nothing fits." : which === "errors" ? "No trouble so far." : "Nothing yet."} />
        )}
        <div
          className="transcript"
          hidden={which === "messages"}
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
              return (
                <a
                  key={event.seq}
                  tabIndex={-1}
                  href={`#${event.seq}`}
                  className={`event ${weightOf(event)}`}
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
                  <EventLine event={event} />
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
