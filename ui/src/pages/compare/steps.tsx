import { useState } from "react";
import { gradesOf, type Step } from "../../graph/steps";
import type { LiveRun } from "../../live/run";
import { Card, Empty } from "../../parts/parts";
import { Link } from "../../route";
import { pairsOf } from "./diff";

const MOST = 300;

/** Steps of the same path beside each other, with their results and grades. */
export function StepPairs({ left, right }: { left: LiveRun; right: LiveRun }) {
  const [all, setAll] = useState(false);
  const pairs = pairsOf(left.view, right.view);
  const shown = all ? pairs : pairs.filter((pair) => !pair.same);
  return (
    <Card
      title="Steps"
      flush
      aside={
        <label className="row small">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />
          also those that are the same ({pairs.filter((pair) => pair.same).length})
        </label>
      }
    >
      {shown.length === 0 ? (
        <Empty title="No step differs." />
      ) : (
        <div className="scroll" tabIndex={0} role="group" aria-label="Steps">
          <table className="sides">
            <thead>
              <tr>
                <th scope="col">Step</th>
                <th scope="col">One run</th>
                <th scope="col">The other</th>
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, MOST).map((pair) => (
                <tr key={pair.path}>
                  <td className="mono">{pair.path}</td>
                  <Side live={left} step={pair.left} />
                  <Side live={right} step={pair.right} />
                </tr>
              ))}
            </tbody>
          </table>
          {shown.length > MOST && (
            <p className="padded quiet small">
              The first {MOST} of {shown.length}.
            </p>
          )}
        </div>
      )}
    </Card>
  );
}

function Side({ live, step }: { live: LiveRun; step: Step | undefined }) {
  if (!step) return <td className="quiet">not there</td>;
  const scores = gradesOf(live.view, step.path).flatMap(({ score }) => score ?? []);
  return (
    <td>
      <Link to={`/runs/${live.id}?tab=graph&view=steps&step=${encodeURIComponent(step.path)}`}>
        {step.result_line || step.status}
      </Link>{" "}
      {scores.length > 0 && <span className="chip num">{scores.join(", ")}</span>}
    </td>
  );
}
