import { useState } from "react";
import { api, Problem, problemOf } from "../../api/client";
import type { Step } from "../../graph/steps";
import { useLoaded } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Bones, Dialog, ProblemNote } from "../../parts/parts";
import { readable } from "../../parts/words";
import { go } from "../../route";

type Change = "reply" | "prompt" | "model" | "nothing";

/** A copy of the run up to one step, changed there: everything before it is inherited and not paid again. */
export function ForkDialog({ live, step, close }: { live: LiveRun; step: Step; close: () => void }) {
  const { value, problem } = useLoaded(`${live.id}/${step.path}`, (signal) => api.step(live.id, step.path, signal));
  return (
    <Dialog title="Fork from this step" close={close}>
      <p>
        A new run that inherits everything before <code>{step.path}</code> and goes its own way from there.
      </p>
      {problem && <ProblemNote problem={problem} />}
      {value ? (
        <Form live={live} step={step} reply={value.result} prompt={value.prompt ?? ""} close={close} />
      ) : (
        !problem && <Bones rows={4} />
      )}
    </Dialog>
  );
}

function Form({
  live,
  step,
  reply,
  prompt,
  close,
}: {
  live: LiveRun;
  step: Step;
  reply: unknown;
  prompt: string;
  close: () => void;
}) {
  const plain = typeof reply === "string";
  const [change, setChange] = useState<Change>(step.status === "failed" ? "nothing" : "reply");
  const [words, setWords] = useState({ reply: readable(reply), prompt, model: step.model });
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const send = (): void => {
    const body: Record<string, unknown> = { at: step.path };
    try {
      if (change === "reply") body.reply = plain ? words.reply : (JSON.parse(words.reply) as unknown);
    } catch {
      setProblem(
        new Problem(
          0,
          "This reply has to be JSON, and is not.",
          "It was read as JSON before, and the run goes on with it.",
        ),
      );
      return;
    }
    if (change === "prompt") body.prompt = words.prompt;
    if (change === "model") body.model = words.model;
    setBusy(true);
    api.fork(live.id, body).then(
      (run) => {
        close();
        go(`/runs/${run.run_id}`);
      },
      (error: unknown) => {
        setBusy(false);
        setProblem(problemOf(error));
      },
    );
  };
  const choices: [Change, string][] = [["reply", "Another reply"]];
  if (prompt) choices.push(["prompt", "Another prompt"], ["model", "Another model"]);
  choices.push(["nothing", "Run it again"]);
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <fieldset className="row wrap">
        <legend className="only-read">What is changed</legend>
        {choices.map(([name, label]) => (
          <label key={name} className="row">
            <input type="radio" name="change" checked={change === name} onChange={() => setChange(name)} />
            {label}
          </label>
        ))}
      </fieldset>
      {(change === "reply" || change === "prompt") && (
        <textarea
          aria-label={change === "reply" ? "Reply" : "Prompt"}
          className="mono"
          rows={14}
          value={words[change]}
          onChange={(event) => setWords({ ...words, [change]: event.target.value })}
        />
      )}
      {change === "model" && (
        <input
          aria-label="Model"
          value={words.model}
          onChange={(event) => setWords({ ...words, model: event.target.value })}
        />
      )}
      {problem && <ProblemNote problem={problem} />}
      <div className="foot">
        <button type="button" onClick={close}>
          Not now
        </button>
        <button className="primary" disabled={busy}>
          Fork
        </button>
      </div>
    </form>
  );
}
