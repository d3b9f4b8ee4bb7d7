import { useState } from "react";
import { api, Problem, problemOf } from "../../api/client";
import type { Question } from "../../fold/run";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Fold, ProblemNote } from "../../parts/parts";
import { Value } from "../../parts/value";
import { readable } from "../../parts/words";

/** What the run wants to know of a person, loud: nothing goes on before it is answered. */
export function Questions({ live }: { live: LiveRun }) {
  return (
    <section className="asks" aria-label="The run asks you">
      {[...live.fold.questions.values()].map((one) => (
        <Ask key={one.path} id={live.id} asked={one} />
      ))}
    </section>
  );
}

function Ask({ id, asked }: { id: string; asked: Question }) {
  const [words, setWords] = useState("");
  const [sent, setSent] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const answer = (given: string): void => {
    setSent(given);
    setProblem(null);
    api.answer(id, given, asked.path).catch((error: unknown) => {
      setSent("");
      setProblem(problemOf(error));
    });
  };
  const details = asked.details;
  return (
    <div className="note warn ask appear">
      <Icon name="waiting" />
      <div className="grow stack">
        <strong>{asked.question}</strong>
        {details !== null && (
          <Fold title="What it is about" open>
            <div className="about" tabIndex={0} role="group" aria-label="What it is about">
              <Details value={details} />
            </div>
          </Fold>
        )}
        {asked.choices.length > 0 ? (
          <div className="row wrap">
            {asked.choices.map((choice, index) => (
              <button
                key={choice}
                className={index === 0 ? "primary" : ""}
                disabled={sent !== ""}
                onClick={() => answer(choice)}
              >
                {label(choice)}
              </button>
            ))}
            {sent && <span role="status">Sent: {sent}. The run goes on.</span>}
          </div>
        ) : (
          <form
            className="row"
            onSubmit={(event) => {
              event.preventDefault();
              if (words.trim()) answer(words);
            }}
          >
            <input aria-label="Your answer" value={words} onChange={(event) => setWords(event.target.value)} />
            <button className="primary" disabled={sent !== "" || !words.trim()}>
              Answer
            </button>
          </form>
        )}
        {problem && <ProblemNote problem={problem} />}
      </div>
    </div>
  );
}

const label = (choice: string): string => choice.charAt(0).toUpperCase() + choice.slice(1);

/** A list of like things is a table, text is shown as it is, and anything else by its names. */
function Details({ value }: { value: unknown }) {
  const rows = Array.isArray(value) ? (value as unknown[]) : [];
  const first = rows[0];
  if (typeof value === "string") return <pre className="prose">{value}</pre>;
  if (typeof first !== "object" || first === null) return <Value value={value} />;
  const columns = Object.keys(first);
  return (
    <table>
      <thead>
        <tr>
          {columns.map((one) => (
            <th key={one} scope="col">
              {one.replaceAll("_", " ")}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            {columns.map((one) => (
              <td key={one}>{readable((row as Record<string, unknown>)[one])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
