import { useEffect, useRef, useState } from "react";
import { api, type RunSummary } from "../../api/client";
import { onReturn, useTitle, watchRuns } from "../../live/list";
import { useLoaded, useNow } from "../../live/load";
import { Icon } from "../../parts/icons";
import { useKeys } from "../../parts/keys";
import { Bones, Empty, ProblemNote } from "../../parts/parts";
import { many } from "../../parts/words";
import { go, Link, usePlace, withQuery, type Place } from "../../route";
import { RunRows } from "./rows";

const STATUSES = ["running", "queued", "waiting", "paused", "completed", "partial", "failed", "cancelled"];
const PAGE = 50;

function queryOf(place: Place): URLSearchParams {
  const query = new URLSearchParams({ limit: String(PAGE) });
  const { query: filters } = place;
  if (filters.get("needs") === "you") query.set("needs_you", "true");
  else if (filters.get("status")) query.set("status", filters.get("status") ?? "");
  for (const [from, to] of [
    ["workflow", "workflow"],
    ["q", "text"],
    ["before", "before"],
  ] as const) {
    const value = filters.get(from);
    if (value) query.set(to, value);
  }
  return query;
}

export function RunsPage() {
  const place = usePlace();
  const query = queryOf(place);
  const { value: page, problem, loading, again } = useLoaded(query.toString(), (signal) => api.runs(query, signal));
  const [changed, setChanged] = useState<ReadonlyMap<string, RunSummary>>(new Map());
  const [cursor, setCursor] = useState(-1);
  const now = useNow(5000);
  useTitle("Runs");
  useEffect(() => setChanged(new Map()), [page]);
  const shownIds = useRef<Set<string>>(new Set());
  shownIds.current = new Set(page?.runs.map((run) => run.run_id));
  useEffect(
    () =>
      watchRuns((run) => {
        if (shownIds.current.has(run.run_id)) setChanged((before) => new Map(before).set(run.run_id, run));
        else again(); // a new one, or one that the filter lets in now
      }),
    [again],
  );
  useEffect(() => onReturn(again), [again]);
  const runs = order(page?.runs.map((run) => changed.get(run.run_id) ?? run) ?? []);
  useKeys({
    "/": () => document.querySelector<HTMLInputElement>("#search")?.focus(),
    j: () => setCursor((at) => Math.min(at + 1, runs.length - 1)),
    k: () => setCursor((at) => Math.max(at - 1, 0)),
    Enter: () => runs[cursor] && go(`/runs/${runs[cursor].run_id}`),
  });
  const filtered = ["needs", "status", "workflow", "q", "before"].some((name) => place.query.has(name));
  return (
    <>
      <div className="top">
        <h1 className="grow">Runs</h1>
        {page && (
          <span className="quiet small" role="status">
            {many(runs.length, "run")}
            {page.next ? ", more on the next page" : ""}
          </span>
        )}
      </div>
      <Filters place={place} />
      {problem && <ProblemNote problem={problem} again={again} />}
      {!page && loading && (
        <div className="card">
          <Bones rows={12} />
        </div>
      )}
      {page && runs.length === 0 && (
        <div className="card">
          {filtered ? (
            <Empty title="No runs match these filters.">
              <Link to="/">Show all runs</Link>
            </Empty>
          ) : (
            <Empty title="Nothing has run yet.">
              <p>
                Start one here, or with <code>podium run</code>: it shows up at once.
              </p>
              <Link className="button primary" to="/new">
                <Icon name="plus" />
                New run
              </Link>
            </Empty>
          )}
        </div>
      )}
      {runs.length > 0 && (
        <div className="card">
          <RunRows runs={runs} cursor={cursor} now={now} />
        </div>
      )}
      <div className="row" style={{ marginTop: 12, justifyContent: "flex-end" }}>
        {place.query.has("before") && <button onClick={() => history.back()}>Newer</button>}
        {page?.next && <button onClick={() => go(withQuery(place, { before: page.next ?? "" }))}>Older</button>}
      </div>
    </>
  );
}

/** Put runs that wait for an answer first; otherwise newest first, as the server has it. */
function order(runs: RunSummary[]): RunSummary[] {
  return [...runs.filter((run) => run.status === "waiting"), ...runs.filter((run) => run.status !== "waiting")];
}

function Filters({ place }: { place: Place }) {
  const [words, setWords] = useState(place.query.get("q") ?? "");
  const needs = place.query.get("needs") === "you";
  const chosen = place.query.get("workflow") ?? "";
  const { value } = useLoaded("workflows", (signal) => api.workflows(signal));
  const known = value?.workflows.map((workflow) => workflow.name) ?? [];
  const workflows = chosen && !known.includes(chosen) ? [...known, chosen] : known;
  useEffect(() => {
    const timer = setTimeout(() => {
      if (words !== (place.query.get("q") ?? "")) go(withQuery(place, { q: words, before: "" }), true);
    }, 200);
    return () => clearTimeout(timer);
  }, [words, place]);
  const change = (name: string, value: string): void => go(withQuery(place, { [name]: value, before: "" }));
  return (
    <div className="filters" role="search">
      <div className="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          placeholder="Search requests and ids  ( / )"
          aria-label="Search runs"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      </div>
      <button className="toggle" aria-pressed={needs} onClick={() => change("needs", needs ? "" : "you")}>
        <Icon name="waiting" />
        Needs you
      </button>
      <select
        aria-label="Status"
        value={place.query.get("status") ?? ""}
        disabled={needs}
        onChange={(event) => change("status", event.target.value)}
      >
        <option value="">Any status</option>
        {STATUSES.map((status) => (
          <option key={status}>{status}</option>
        ))}
      </select>
      <select aria-label="Workflow" value={chosen} onChange={(event) => change("workflow", event.target.value)}>
        <option value="">Any workflow</option>
        {workflows.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  );
}
