import { useState } from "react";
import { api } from "../../api/client";
import { gradesOf, secondsOf, stepAt, stepsOf, titleOf, type Step } from "../../graph/steps";
import { useLoaded } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Bones, Card, Disclosure, ProblemNote, StatusMark } from "../../parts/parts";
import { count, many, money, span, titled } from "../../parts/words";
import { go, Link, usePlace, withQuery } from "../../route";
import { ForkDialog } from "./fork";
import { GradeNotes } from "./grade";
import { Messages, OneCall, useMessages } from "./messages";
import { Reply } from "./reply";

const LISTED = 200;

/** The selection: one step in full, or the steps below a branch. */
export function Selected({ live, path }: { live: LiveRun; path: string | null }) {
  if (path === null) {
    return (
      <Card title="Nothing selected">
        <p className="quiet">Choose a step to see who was asked what, and what came back.</p>
      </Card>
    );
  }
  const step = stepAt(live.view, path);
  return step ? <StepPanel key={path} live={live} step={step} /> : <Branch live={live} path={path} />;
}

function Branch({ live, path }: { live: LiveRun; path: string }) {
  const place = usePlace();
  const below = stepsOf(live.view).filter((step) => path === "" || step.path.startsWith(`${path}/`));
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
                <span className="cut block">{titleOf(step)}</span>
                <span className="quiet small cut block">
                  {step.agent || step.kind} · {step.path}
                </span>
              </span>
              <span className="num quiet">{money(step.usage.cost_usd)}</span>
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
  const { usage, attempt = 1, repairs = 0, retries = 0 } = step;
  return (
    <Card
      title={step.call ?? titled(titleOf(step))}
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
          {attempt > 1 && <span className="chip">attempt {attempt}</span>}
          {step.cached && <span className="chip accent">from the cache</span>}
          {step.inherited && <span className="chip">inherited</span>}
          {step.edited && <span className="chip warn">edited by a person</span>}
          {step.cut && <span className="chip warn">cut off</span>}
          {repairs > 0 && <span className="chip warn">{many(repairs, "repair")}</span>}
          {retries > 0 && <span className="chip warn">{many(retries, "retry", "retries")}</span>}
        </div>
        <div className="small quiet num">
          {span(secondsOf(step, live.until(Date.now())))} ·{" "}
          {!step.call && `${count(usage.input_tokens)} → ${count(usage.output_tokens)} tokens · `}
          {money(usage.cost_usd)}
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
        <GradeNotes view={live.view} grades={gradesOf(live.view, step.path)} />
        {step.turn || step.call ? <Spoken live={live} path={step.path} /> : <Exchange live={live} step={step} />}
      </div>
      {forking && <ForkDialog live={live} step={step} close={() => setForking(false)} />}
    </Card>
  );
}

/** The conversation up to a turn, or a tool call. */
function Spoken({ live, path }: { live: LiveRun; path: string }) {
  const { value, problem } = useMessages(live, path);
  const typing = live.typing.get(path);
  if (problem && !value) return <ProblemNote problem={problem} />;
  if (!value) return <Bones rows={3} />;
  return (
    <>
      {value.call && <OneCall call={value.call} open />}
      {value.conversations.map((talk) => (
        <Messages key={talk.path} talk={talk} />
      ))}
      {typing && <p className="typing quiet small">{typing}</p>}
    </>
  );
}

/** Instructions, prompt and reply, which are read when the step is selected. */
function Exchange({ live, step }: { live: LiveRun; step: Step }) {
  const { path, status, asked_seq, ended_seq } = step;
  const typing = live.typing.get(path);
  const { value, problem } = useLoaded(`${live.id}/${path} ${asked_seq} ${ended_seq}`, (signal) =>
    api.step(live.id, path, signal),
  );
  if (problem && !value) return <ProblemNote problem={problem} />;
  if (!value) return <Bones rows={3} />;
  return (
    <>
      {value.system && (
        <Disclosure title="Instructions">
          <Text text={value.system} />
        </Disclosure>
      )}
      {value.prompt && (
        <Disclosure title="Prompt">
          <Text text={value.prompt} />
        </Disclosure>
      )}
      {status === "running" && typing && (
        <Disclosure title="Reply, being written" open>
          <Text text={typing} />
        </Disclosure>
      )}
      {status === "completed" && value.status === "completed" && <Reply result={value.result} />}
    </>
  );
}

function Text({ text }: { text: string }) {
  return (
    <pre className="document" tabIndex={0}>
      {text}
    </pre>
  );
}
