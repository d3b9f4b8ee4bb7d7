import { useState } from "react";
import { attemptIn } from "../../fold/grades";
import { isClock, seconds, type Step } from "../../fold/steps";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Card, Fold, StatusMark } from "../../parts/parts";
import { count, many, money, span, titled } from "../../parts/words";
import { go, Link, usePlace, withQuery } from "../../route";
import { ForkDialog } from "./fork";
import { GradeNotes } from "./grade";
import { Reply, Words } from "./words";

const LISTED = 200;

/** What was selected: one step in full, or the steps below a branch. */
export function Selected({ live, path }: { live: LiveRun; path: string | null }) {
  if (path === null) {
    return (
      <Card title="Nothing selected">
        <p className="quiet">Choose a step to see who was asked what, and what came back.</p>
      </Card>
    );
  }
  const step = live.fold.steps.byPath.get(path);
  return step ? <StepPanel key={path} live={live} step={step} /> : <Branch live={live} path={path} />;
}

function Branch({ live, path }: { live: LiveRun; path: string }) {
  const place = usePlace();
  const below = live.fold.steps.all.filter(
    (step) => (path === "" ? true : step.path.startsWith(`${path}/`)) && !isClock(step),
  );
  return (
    <Card
      title={path || "The whole run"}
      flush
      aside={<span className="quiet small">{many(below.length, "step")}</span>}
    >
      <ul className="picks">
        {below.slice(0, LISTED).map((step) => (
          <li key={step.path}>
            <button className="pick" onClick={() => go(withQuery(place, { step: step.path }), true)}>
              <span className={`status ${step.status}`}>
                <Icon name={step.status} label={step.status} />
              </span>
              <span className="grow">
                <span className="cut block">{step.task || step.path.split("/").at(-1)}</span>
                <span className="quiet small cut block">
                  {step.agent || step.kind} · {step.path}
                </span>
              </span>
              <span className="num quiet">{money(step.charge.usd)}</span>
            </button>
          </li>
        ))}
        {below.length > LISTED && <li className="body quiet">…and {below.length - LISTED} more, in the transcript.</li>}
      </ul>
    </Card>
  );
}

function StepPanel({ live, step }: { live: LiveRun; step: Step }) {
  const [forking, setForking] = useState(false);
  const typing = live.typing.get(step.path);
  return (
    <Card
      title={titled(step.task || (step.path.split("/").at(-1) ?? ""))}
      aside={
        step.status === "completed" || step.status === "failed" ? (
          <button onClick={() => setForking(true)}>
            <Icon name="fork" />
            Fork from here
          </button>
        ) : undefined
      }
    >
      <div className="stack">
        <div className="row wrap">
          <StatusMark status={step.status} />
          {step.agent && <span className="chip">{step.agent}</span>}
          {step.model && <span className="chip">{step.model}</span>}
          {attemptIn(step.path) > 1 && <span className="chip">attempt {attemptIn(step.path)}</span>}
          {step.cached && <span className="chip accent">from the cache</span>}
          {step.inherited && <span className="chip">inherited</span>}
          {step.edited && <span className="chip warn">edited by a person</span>}
          {step.repairs > 0 && <span className="chip warn">{many(step.repairs, "repair")}</span>}
          {step.retries > 0 && <span className="chip warn">{many(step.retries, "retry", "retries")}</span>}
        </div>
        <div className="small quiet num">
          {span(seconds(step, Date.now()))} · {count(step.charge.input)} → {count(step.charge.output)} tokens ·{" "}
          {money(step.charge.usd)}
        </div>
        <Link
          className="mono small"
          to={`/runs/${live.id}?tab=transcript&step=${encodeURIComponent(step.path)}#${step.seq}`}
        >
          {step.path}
        </Link>
        {step.error && (
          <div className="note bad">
            <Icon name="warn" />
            <span>{step.error}</span>
          </div>
        )}
        <GradeNotes grades={live.fold.grades.of(step.path)} />
        {step.system && (
          <Fold title="Instructions">
            <pre className="document" tabIndex={0}>
              {step.system}
            </pre>
          </Fold>
        )}
        {(step.prompt || step.promptBlob > 0) && (
          <Fold title="Prompt">
            <Words id={live.id} text={step.prompt} blob={step.promptBlob} />
          </Fold>
        )}
        {step.status === "running" && typing && (
          <Fold title="Reply, being written" open>
            <pre className="document" tabIndex={0}>
              {typing}
            </pre>
          </Fold>
        )}
        {step.status === "completed" && <Reply id={live.id} result={step.result} blob={step.resultBlob} />}
      </div>
      {forking && <ForkDialog live={live} step={step} close={() => setForking(false)} />}
    </Card>
  );
}
