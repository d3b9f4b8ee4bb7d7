import type { BuildFold, BuildStep } from "../fold/build";
import { Diff } from "../parts/diff";
import { Icon } from "../parts/icons";
import { Fold } from "../parts/parts";
import { points } from "../parts/words";
import { BuildLoop } from "./loop";
import { AsTable } from "./table";
import { TestRuns } from "./tests";

const MARKS: Record<string, string> = {
  pending: "queued",
  in_progress: "running",
  running: "running",
  completed: "completed",
  failed: "failed",
  skipped: "partial",
};

type Pick = (path: string) => void;

/** The plan as a checklist with sub-plans indented, beside the loop with the place where it stands. */
export function BuildGraph({ fold, pick }: { fold: BuildFold; pick: Pick }) {
  const steps = fold.checklist();
  return (
    <>
      <BuildLoop fold={fold} />
      <div className="padded build-view">
        <Plan fold={fold} steps={steps} pick={pick} />
        <section className="stack" aria-label="What came out">
          <h3>Changes</h3>
          {fold.commits.length === 0 && !fold.diff && <p className="quiet">Nothing was committed yet.</p>}
          <Commits fold={fold} />
          {fold.diff && <Diff text={fold.diff} />}
          {fold.tests.length > 0 && (
            <Fold title={`Tests, ${fold.tests.length} times`} open={!fold.diff}>
              <TestRuns fold={fold} pick={pick} />
            </Fold>
          )}
        </section>
      </div>
      <AsTable columns={["Status", "Step", "Attempts", "Tests"]} pick={pick} rows={() => steps.map(rowOf)} />
    </>
  );
}

const tested = ({ tests }: BuildStep): string =>
  tests ? `${tests.passed} passed${tests.failed > 0 ? `, ${tests.failed} failed` : ""}` : "";

const rowOf = (step: BuildStep) => ({
  path: step.path,
  cells: [step.status, step.title, String(step.attempts), tested(step)],
});

function Commits({ fold }: { fold: BuildFold }) {
  return (
    <ol className="list">
      {fold.commits.map((one) => (
        <li key={one.sha} className="small row">
          <code>{one.sha.slice(0, 8)}</code>
          <span className="grow wrap-any">{one.message}</span>
        </li>
      ))}
    </ol>
  );
}

function Plan({ fold, steps, pick }: { fold: BuildFold; steps: BuildStep[]; pick: Pick }) {
  const done = steps.filter((step) => step.status === "completed").length;
  return (
    <section className="stack" aria-label="Plan">
      <h3>
        Plan{steps.length > 0 && `, ${done} of ${steps.length} done`}
        {fold.branch && <code className="branch">{fold.branch}</code>}
      </h3>
      {steps.length === 0 && <p className="quiet">No plan yet.</p>}
      <ol className="checklist">
        {steps.map((step) => (
          <PlanStep key={step.id} step={step} current={step.id === fold.current} pick={pick} />
        ))}
      </ol>
    </section>
  );
}

function PlanStep({ step, current, pick }: { step: BuildStep; current: boolean; pick: Pick }) {
  const mark = MARKS[step.status] ?? "queued";
  const told = [step.attempts > 1 && `${step.attempts} attempts`, step.files.join(", "), step.reason];
  return (
    <li className="appear" style={{ marginLeft: step.depth * 20 }} aria-current={current ? "step" : undefined}>
      <span className={`status ${mark}`}>
        <Icon name={mark} label={step.status} />
      </span>
      <span className="grow">
        <button className="link" onClick={() => pick(step.path)}>
          {step.title}
        </button>
        <span className="quiet small block">{told.filter(Boolean).join(" · ")}</span>
      </span>
      {step.tests && <span className={`chip ${step.tests.failed ? "warn" : ""}`}>{tested(step)}</span>}
      {step.score !== null && <span className="num">{points(step.score)}</span>}
    </li>
  );
}
