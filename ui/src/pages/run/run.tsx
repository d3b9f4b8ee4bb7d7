import { useEffect, useRef, useState, type ReactNode } from "react";
import { useTitle } from "../../live/list";
import { useLiveRun, type LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Bones, ProblemNote } from "../../parts/parts";
import { oneLine } from "../../parts/words";
import { go, Link, usePlace, withQuery } from "../../route";
import { Questions } from "./answer";
import { ArtifactsTab } from "./artifacts";
import { BudgetTab } from "./budget";
import { GraphTab } from "./graph";
import { Head } from "./head";
import { OverviewTab } from "./overview";
import { TimelineTab } from "./timeline";
import { TranscriptTab } from "./transcript";

const TABS = ["overview", "graph", "timeline", "transcript", "artifacts", "budget"] as const;
type Tab = (typeof TABS)[number];

/** One run, live or finished. */
export default function RunPage({ id }: { id: string }) {
  const live = useLiveRun(id);
  const waiting = live?.ready && live.status === "waiting";
  const request = live?.ready ? oneLine(live.view.request, 60) : "";
  useTitle(`${waiting ? "● needs you: " : ""}${request || id}`);
  if (live?.link === "error" && live.problem) {
    return (
      <div className="stack">
        <ProblemNote problem={live.problem} />
        <Link to="/">All runs</Link>
      </div>
    );
  }
  if (!live?.ready)
    return (
      <div className="card">
        <Bones rows={12} />
        {live?.problem && <ProblemNote problem={live.problem} />}
      </div>
    );
  return <OpenRun live={live} />;
}

function OpenRun({ live }: { live: LiveRun }) {
  const place = usePlace();
  const wanted = place.query.get("tab") ?? (/^\d+$/.test(place.hash) ? "transcript" : "overview");
  const tab: Tab = TABS.find((name) => name === wanted) ?? "overview";
  const [busy, setBusy] = useState(false);
  const { artifacts, rehearsal } = live.view;
  const files = Object.keys(artifacts).length;
  return (
    <div className="run">
      <Head live={live} busy={busy} setBusy={setBusy} />
      {!live.over && <Questions live={live} chatShown={tab === "overview"} />}
      <nav className="tabs" aria-label="Parts of the run">
        {TABS.map((name) => (
          <TabLink key={name} name={name} current={name === tab} to={withQuery(place, { tab: name })}>
            {name === "artifacts" && files > 0 && <span className="num quiet"> {files}</span>}
          </TabLink>
        ))}
        <span className="grow" />
        {rehearsal && (
          <span className="chip" title="Answers are made up, offline and free of charge">
            <Icon name="help" />
            rehearsal model
          </span>
        )}
      </nav>
      {tab === "overview" && <OverviewTab live={live} />}
      {tab === "graph" && <GraphTab live={live} />}
      {tab === "timeline" && <TimelineTab live={live} />}
      {tab === "transcript" && <TranscriptTab live={live} />}
      {tab === "artifacts" && <ArtifactsTab live={live} />}
      {tab === "budget" && <BudgetTab live={live} />}
      {live.link === "reconnecting" && (
        <div className="linkstate" role="status">
          <Icon name="stale" />
          Reconnecting… nothing is lost
        </div>
      )}
    </div>
  );
}

/** On a phone the tabs scroll: the one that is open is brought into view. */
function TabLink({ name, current, to, children }: { name: Tab; current: boolean; to: string; children: ReactNode }) {
  const element = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (current) element.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  return (
    <a
      ref={element}
      href={to}
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        event.preventDefault();
        go(to);
      }}
    >
      {name}
      {children}
    </a>
  );
}
