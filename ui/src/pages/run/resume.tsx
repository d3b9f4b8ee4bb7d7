import { useState } from "react";
import { api, Problem, problemOf } from "../../api/client";
import type { LiveRun } from "../../live/run";
import { Dialog, ProblemNote } from "../../parts/parts";

const FIELDS = [
  { name: "usd", label: "Most dollars" },
  { name: "calls", label: "Most calls" },
  { name: "tokens", label: "Most tokens" },
  { name: "seconds", label: "Most seconds" },
] as const;

/** Go on where the run stopped; ceilings are new totals, not additions. */
export function ResumeDialog({ live, close, done }: { live: LiveRun; close: () => void; done: (id: string) => void }) {
  const [given, setGiven] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const send = (): void => {
    const budget = Object.fromEntries(
      Object.entries(given)
        .filter(([, value]) => value.trim())
        .map(([name, value]) => [name, Number(value)]),
    );
    setBusy(true);
    api.resume(live.id, { budget }).then(
      (run) => {
        close();
        done(run.run_id);
      },
      (error: unknown) => {
        setBusy(false);
        setProblem(problemOf(error));
      },
    );
  };
  return (
    <Dialog title="Resume this run" close={close}>
      <p>Finished steps are not run or paid again. Raise a ceiling if one stopped the run: give the new total.</p>
      <div className="fields two">
        {FIELDS.map(({ name, label }) => (
          <label key={name}>
            {label}
            <input
              inputMode="decimal"
              value={given[name] ?? ""}
              placeholder={live.fold.budget[name]?.toString() ?? "no ceiling"}
              onChange={(event) => setGiven({ ...given, [name]: event.target.value })}
            />
          </label>
        ))}
      </div>
      {problem && <ProblemNote problem={problem} />}
      <div className="foot">
        <button onClick={close}>Not now</button>
        <button className="primary" disabled={busy} onClick={send}>
          Resume
        </button>
      </div>
    </Dialog>
  );
}
