import { useState } from "react";
import { api, problemOf, type Fact, type Problem } from "../../api/client";
import { useLoaded } from "../../live/load";
import { Dialog, Disclosure, ProblemNote } from "../../parts/parts";

const KINDS = ["character", "scene", "place", "object", "rule", "other"] as const;
const FIELDS = [
  { name: "subject", label: "About" },
  { name: "predicate", label: "What" },
  { name: "value", label: "Value" },
] as const;

/** One fact: other words for it, out of canon with it, and who changed it when. */
export function FactDialog({
  name,
  fact,
  close,
  done,
}: {
  name: string;
  fact: Fact;
  close: () => void;
  done: () => void;
}) {
  const [words, setWords] = useState({ subject: fact.subject, predicate: fact.predicate, value: fact.value });
  const [kind, setKind] = useState<Fact["kind"]>(fact.kind);
  const [problem, setProblem] = useState<Problem | null>(null);
  const send = (body: unknown): void => {
    setProblem(null);
    api.review(name, body).then(
      () => {
        close();
        done();
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  const empty = FIELDS.some((field) => !words[field.name].trim());
  return (
    <Dialog title="Correct a fact" close={close}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!empty) send({ edit: [{ id: fact.id, ...words, kind }] });
        }}
      >
        {FIELDS.map((field) => (
          <label key={field.name} className="labelled">
            {field.label}
            <input
              value={words[field.name]}
              aria-invalid={!words[field.name].trim()}
              onChange={(event) => setWords({ ...words, [field.name]: event.target.value })}
            />
          </label>
        ))}
        <label className="labelled">
          Kind
          <select value={kind} onChange={(event) => setKind(event.target.value as Fact["kind"])}>
            {KINDS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {fact.quote && <blockquote className="quiet prose">{fact.quote}</blockquote>}
        <History name={name} id={fact.id} />
        {problem && <ProblemNote problem={problem} />}
        <div className="foot">
          {fact.status === "accepted" && (
            <button type="button" className="danger" onClick={() => send({ discard: [fact.id] })}>
              Take out of canon
            </button>
          )}
          <span className="grow" />
          <button type="button" onClick={close}>
            Not now
          </button>
          <button className="primary" disabled={empty}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function History({ name, id }: { name: string; id: string }) {
  const { value } = useLoaded(`${name} ${id}`, (signal) => api.fact(name, id, signal));
  if (!value || value.history.length === 0) return null;
  return (
    <Disclosure title={`History (${value.history.length})`}>
      <ol className="document list">
        {value.history.map((entry, index) => (
          <li key={index} className="small">
            <span className="num quiet">{entry.at.slice(0, 16).replace("T", " ")}</span> {entry.action} by {entry.by}
            {entry.before.value !== undefined && entry.before.value !== entry.after.value && (
              <> · was “{entry.before.value}”</>
            )}
          </li>
        ))}
      </ol>
    </Disclosure>
  );
}
