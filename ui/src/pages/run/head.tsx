import { useState } from "react";
import { api, Problem, problemOf } from "../../api/client";
import { pausedBy } from "../../fold/telling";
import { useNow } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Glyph, Meter, ProblemNote, StatusMark } from "../../parts/parts";
import { many, money, oneLine, points, span } from "../../parts/words";
import { go, Link } from "../../route";
import { ResumeDialog } from "./resume";

interface Props {
  live: LiveRun;
  busy: boolean;
  setBusy: (busy: boolean) => void;
}

export function Head({ live, busy, setBusy }: Props) {
  const { fold, status } = live;
  const usage = fold.spent(status);
  const now = useNow(1000, status === "running");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [resuming, setResuming] = useState(false);
  const [sure, setSure] = useState(false);
  const alive = status === "running" || status === "waiting" || status === "queued" || status === "paused";
  const act = (action: () => Promise<unknown>): void => {
    setBusy(true);
    setProblem(null);
    action()
      .catch((error: unknown) => setProblem(problemOf(error)))
      .finally(() => {
        setBusy(false);
        setSure(false);
      });
  };
  return (
    <header className="head">
      <div className="row wrap">
        <Glyph workflow={fold.workflow} />
        <span className="mono quiet">{live.id}</span>
        {fold.forked && (
          <span className="chip">
            <Icon name="fork" />
            fork of <Link to={`/runs/${fold.forked.source}`}>{fold.forked.source}</Link> at {fold.forked.at}
          </span>
        )}
      </div>
      <div className="row wrap title">
        <h1 className="grow" title={fold.request}>
          {oneLine(fold.request, 140)}
        </h1>
        <div className="row wrap actions">
          <Link className="button" to={`/compare?a=${live.id}`}>
            <Icon name="compare" />
            Compare
          </Link>
          {status === "running" && (
            <button disabled={busy} onClick={() => act(() => api.pause(live.id))}>
              Pause
            </button>
          )}
          {(status === "paused" || status === "partial" || status === "failed") && (
            <button className="primary" disabled={busy} onClick={() => setResuming(true)}>
              Resume
            </button>
          )}
          {alive && !sure && (
            <button className="danger" disabled={busy} onClick={() => setSure(true)}>
              Cancel
            </button>
          )}
          {alive && sure && (
            <>
              <button className="danger" disabled={busy} onClick={() => act(() => api.cancel(live.id))}>
                Cancel for good
              </button>
              <button className="plain" onClick={() => setSure(false)}>
                Keep it
              </button>
            </>
          )}
        </div>
      </div>
      <dl className="facts">
        <div>
          <dt>Status</dt>
          <dd>
            <StatusMark status={status} />
          </dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd className="num">{span(fold.drivenAt(now))}</dd>
        </div>
        <div>
          <dt>Spent</dt>
          <dd className="row">
            <span className="num">
              {money(usage.usd)}
              {fold.budget.usd !== null && ` / ${money(fold.budget.usd)}`}
            </span>
            {fold.budget.usd !== null && (
              <Meter
                thin
                spent={usage.usd}
                reserved={fold.held.usd}
                ceiling={fold.budget.usd}
                label="Spent of the budget"
              />
            )}
          </dd>
        </div>
        <div>
          <dt>Calls</dt>
          <dd className="num">
            {usage.calls}
            {fold.budget.calls !== null && ` / ${fold.budget.calls}`}
            {usage.unknown > 0 && (
              <span className="quiet" title="The process died while they were under way; counted in full">
                {` · ${usage.unknown} of unknown outcome`}
              </span>
            )}
          </dd>
        </div>
        <div>
          <dt>Steps</dt>
          <dd className="num">
            {fold.steps.counted}
            {fold.steps.running.size > 0 && ` · ${many(fold.steps.running.size, "running", "running")}`}
          </dd>
        </div>
        {fold.quality !== null && (
          <div>
            <dt>Quality</dt>
            <dd className="num">{points(fold.quality)}</dd>
          </div>
        )}
      </dl>
      {problem && <ProblemNote problem={problem} />}
      {(fold.error || (fold.stopReason && status !== "completed")) && (
        <div className={`note ${status === "failed" ? "bad" : "warn"}`}>
          <Icon name="warn" />
          <div>
            <strong>
              {fold.error || (status === "paused" ? pausedBy(fold.stopReason) : `Stopped: ${fold.stopReason}`)}
            </strong>
            {fold.hint && <div>{fold.hint}</div>}
          </div>
        </div>
      )}
      {resuming && <ResumeDialog live={live} close={() => setResuming(false)} done={(id) => go(`/runs/${id}`)} />}
    </header>
  );
}
