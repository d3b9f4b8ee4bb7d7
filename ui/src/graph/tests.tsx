import type { BuildFold, TestRun } from "../fold/build";
import { Icon } from "../parts/icons";

const SHOWN = 30;

/** Every time that tests ran, newest first, with what failed. */
export function TestRuns({ fold, pick }: { fold: BuildFold; pick: (path: string) => void }) {
  const titles = new Map(fold.checklist().map((step) => [step.id, step.title]));
  return (
    <ol className="document list">
      {[...fold.tests]
        .reverse()
        .slice(0, SHOWN)
        .map((run, index) => (
          <li key={index}>
            <div className="row">
              <span className={`status ${run.ok ? "completed" : "failed"}`}>
                <Icon name={run.ok ? "completed" : "failed"} label={run.ok ? "passed" : "failed"} />
              </span>
              <button className="link grow" onClick={() => pick(run.path)}>
                {titles.get(run.step) ?? "Everything together"}
              </button>
              <span className="num">
                {run.passed} passed, {run.failed} failed
              </span>
            </div>
            <Failures run={run} />
          </li>
        ))}
    </ol>
  );
}

function Failures({ run }: { run: TestRun }) {
  return run.failures.map((one, index) => (
    <details key={index} className="bare small">
      <summary className="mono">{one.name}</summary>
      <pre>{one.output || one.message}</pre>
    </details>
  ));
}
