import type { BuildStep, BuildView } from "../api/client";
import { Diff } from "../parts/diff";
import { Icon } from "../parts/icons";
import { Disclosure } from "../parts/parts";
import { numbered, ordered } from "./order";
import { AsTable } from "./table";

type Pick = (path: string) => void;

const MOST_TEST_RUNS = 30;

/** The plan as a checklist with sub-plans indented, below the loop with the place where it stands. */
export function BuildGraph({ view, pick }: { view: BuildView; pick: Pick }) {
  const steps = ordered(view.steps);
  const tests = numbered(view.tests);
  return (
    <>
      <Loop view={view} />
      <div className="padded build-view">
        <section className="stack" aria-label="Plan">
          <h3>
            Plan{steps.length > 0 && `, ${view.steps_text}`}
            {view.branch && <code className="branch">{view.branch}</code>}
          </h3>
          {steps.length === 0 && <p className="quiet">No plan yet.</p>}
          <ol className="checklist">
            {steps.map((step) => (
              <PlanStep key={step.id} step={step} pick={pick} />
            ))}
          </ol>
        </section>
        <section className="stack" aria-label="Changes">
          <h3>Changes</h3>
          <Commits view={view} />
          {view.diff && <Diff text={view.diff} />}
          {tests.length > 0 && (
            <Disclosure title={`Tests, ${tests.length} times`} open={!view.diff}>
              <TestRuns tests={tests.map(([, run]) => run).reverse()} pick={pick} />
            </Disclosure>
          )}
        </section>
      </div>
      <AsTable
        columns={["Status", "Step", "Attempts", "Tests"]}
        pick={pick}
        rows={() =>
          steps.map(({ path, label, title, attempts, tests_text = "" }) => ({
            path,
            cells: [label, title, String(attempts), tests_text],
          }))
        }
      />
    </>
  );
}

/** The role at work: the loop goes back to the coder until the tests pass and the supervisor agrees. */
function Loop({ view }: { view: BuildView }) {
  return (
    <section className="loop" aria-label="Where it stands">
      <ol>
        {ordered(view.loop).map(({ id, name, does, active }) => (
          <li key={id} aria-current={active ? "step" : undefined}>
            <strong>{name}</strong>
            <span className="small">{does}</span>
          </li>
        ))}
      </ol>
      <p className="small quiet">{view.phase}</p>
    </section>
  );
}

function PlanStep({ step, pick }: { step: BuildStep; pick: Pick }) {
  const { path, title, depth, status, label, current, note, tests_text, tests_failed, score_text } = step;
  return (
    <li className="appear" style={{ marginLeft: depth * 20 }} aria-current={current ? "step" : undefined}>
      <span className={`status ${status}`}>
        <Icon name={status} label={label} />
      </span>
      <span className="grow">
        <button className="link" onClick={() => pick(path)}>
          {title}
        </button>
        {note && <span className="quiet small block">{note}</span>}
      </span>
      {tests_text && <span className={`chip ${tests_failed ? "warn" : ""}`}>{tests_text}</span>}
      {score_text && <span className="num">{score_text}</span>}
    </li>
  );
}

function Commits({ view }: { view: BuildView }) {
  const commits = ordered(view.commits);
  if (commits.length === 0 && !view.diff) return <p className="quiet">Nothing was committed yet.</p>;
  return (
    <ol className="list">
      {commits.map(({ id: sha, message }) => (
        <li key={sha} className="small row">
          <code>{sha.slice(0, 8)}</code>
          <span className="grow wrap-any">{message}</span>
        </li>
      ))}
    </ol>
  );
}

/** Runs of the tests, newest first, with their failures. */
function TestRuns({ tests, pick }: { tests: BuildView["tests"][string][]; pick: Pick }) {
  return (
    <ol className="document list">
      {tests.slice(0, MOST_TEST_RUNS).map(({ path, title, ok, text, command, failures }, index) => (
        <li key={index}>
          <div className="row">
            <span className={`status ${ok ? "completed" : "failed"}`}>
              <Icon name={ok ? "completed" : "failed"} label={ok ? "passed" : "failed"} />
            </span>
            <button className="link grow" onClick={() => pick(path)} title={command}>
              {title}
            </button>
            <span className="num">{text}</span>
          </div>
          {failures.map((failure, number) => (
            <details key={number} className="bare small">
              <summary className="mono">{failure.name}</summary>
              <pre>{failure.text}</pre>
            </details>
          ))}
        </li>
      ))}
    </ol>
  );
}
