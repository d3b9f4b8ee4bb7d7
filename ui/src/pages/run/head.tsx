import { useState } from "react";
import { api, Problem, problemOf } from "../../api/client";
import { useNow } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Glyph, Meter, ProblemNote, StatusMark } from "../../parts/parts";
import { money, oneLine, span } from "../../parts/words";
import { go, Link } from "../../route";
import { ResumeDialog } from "./resume";

interface Props {
  live: LiveRun;
  busy: boolean;
  setBusy: (busy: boolean) => void;
}

export function Head({ live, busy, setBusy }: Props) {
  const { view, status } = live;
  const { budget, forked, notice } = view;
  const usage = live.driven ? view.usage : view.usage_at_rest;
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
        <Glyph workflow={view.workflow} />
        <span className="mono quiet">{live.id}</span>
        {forked && (
          <span className="chip">
            <Icon name="fork" />
            fork of <Link to={`/runs/${forked.source}`}>{forked.source}</Link> at {forked.at}
          </span>
        )}
      </div>
      <div className="row wrap title">
        <h1 className="grow" title={view.request}>
          {oneLine(view.request, 140)}
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
          <dd className="num">{span(drivenSeconds(live, now))}</dd>
        </div>
        <div>
          <dt>Spent</dt>
          <dd className="row">
            <span className="num">
              {money(usage.cost_usd)}
              {budget.usd !== undefined && ` / ${money(budget.usd)}`}
            </span>
            {budget.usd !== undefined && (
              <Meter
                thin
                spent={usage.cost_usd}
                reserved={live.driven ? view.reserved.cost_usd : 0}
                ceiling={budget.usd}
                label="Spent of the budget"
              />
            )}
          </dd>
        </div>
        <div>
          <dt>Calls</dt>
          <dd className="num">
            {usage.calls}
            {budget.calls !== undefined && ` / ${budget.calls}`}
            {usage.unknown_calls && (
              <span className="quiet" title="The process died while they were under way; counted in full">
                {` · ${usage.unknown_calls} of unknown outcome`}
              </span>
            )}
          </dd>
        </div>
        <div>
          <dt>Steps</dt>
          <dd className="num">
            {view.steps_total}
            {live.driven && view.steps_running > 0 && ` · ${view.steps_running} running`}
          </dd>
        </div>
        {view.summary && (
          <div>
            <dt>Summary</dt>
            <dd>{view.summary}</dd>
          </div>
        )}
        {view.quality_text && (
          <div>
            <dt>Quality</dt>
            <dd className="num" title={view.scores_note}>
              {view.quality_text}
            </dd>
          </div>
        )}
      </dl>
      {problem && <ProblemNote problem={problem} />}
      {notice && (
        <div className={`note ${notice.weight === "failure" ? "bad" : "warn"}`}>
          <Icon name="warn" />
          <div>
            <strong>{notice.text}</strong>
            {notice.hint && <div>{notice.hint}</div>}
          </div>
        </div>
      )}
      {resuming && <ResumeDialog live={live} close={() => setResuming(false)} done={(id) => go(`/runs/${id}`)} />}
    </header>
  );
}

/** Return how long the run was driven: one that goes on gets older between two events. */
function drivenSeconds({ view, status }: LiveRun, now: number): number {
  const { driven_s, driven_before_s = 0, driving_since_ms } = view;
  if (status !== "running" || driving_since_ms === undefined) return driven_s;
  return driven_before_s + Math.max(0, now - driving_since_ms) / 1000;
}
