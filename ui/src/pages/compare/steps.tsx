import { useState } from "react";
import { pairsOf } from "../../fold/compare";
import type { Step } from "../../fold/steps";
import type { LiveRun } from "../../live/run";
import { Card, Empty } from "../../parts/parts";
import { brief } from "../../parts/words";
import { Link } from "../../route";

const MOST = 300;

/** Steps of the same path beside each other, with what came back and how it was graded. */
export function StepPairs({ one, other }: { one: LiveRun; other: LiveRun }) {
  const [all, setAll] = useState(false);
  const pairs = pairsOf(one.fold, other.fold);
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
                  <Side live={one} step={pair.one} />
                  <Side live={other} step={pair.other} />
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
  const graded = live.fold.grades.of(step.path).filter((grade) => grade.score !== null);
  return (
    <td>
      <Link to={`/runs/${live.id}?tab=graph&view=steps&step=${encodeURIComponent(step.path)}`}>
        {brief(step.result) || step.status}
      </Link>{" "}
      {graded.length > 0 && <span className="chip num">{graded.map((grade) => grade.score).join(", ")}</span>}
    </td>
  );
}
