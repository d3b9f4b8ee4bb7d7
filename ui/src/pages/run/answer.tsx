import { useState } from "react";
import { api, Problem, problemOf, type Question } from "../../api/client";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Disclosure, ProblemNote } from "../../parts/parts";
import { Value } from "../../parts/value";
import { readable } from "../../parts/words";

/** The questions of a run: it waits for the answers. */
export function Questions({ live, chatShown }: { live: LiveRun; chatShown: boolean }) {
  const { questions, detail } = live.view;
  const inChat = chatShown && detail?.kind === "chat" ? detail.next : undefined;
  const asked = Object.entries(questions)
    .filter(([path]) => path !== inChat)
    .sort(([, a], [, b]) => a.seq - b.seq);
  if (asked.length === 0) return null;
  return (
    <section className="asks" aria-label="The run asks you">
      {asked.map(([path, question]) => (
        <QuestionForm key={path} id={live.id} path={path} question={question} />
      ))}
    </section>
  );
}

function QuestionForm({ id, path, question }: { id: string; path: string; question: Question }) {
  const [words, setWords] = useState("");
  const [sent, setSent] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const answer = (reply: unknown): void => {
    setSent(typeof reply === "string" ? reply : Object.keys(reply as object).join());
    setProblem(null);
    api.answer(id, reply, path).catch((error: unknown) => {
      setSent("");
      setProblem(problemOf(error));
    });
  };
  const { details, choices, answers = {} } = question;
  return (
    <div className="note warn ask appear">
      <Icon name="waiting" />
      <div className="grow stack">
        <strong>{question.question}</strong>
        {details !== undefined && (
          <Disclosure title="What it is about" open>
            <div className="about" tabIndex={0} role="group" aria-label="What it is about">
              <Details value={details} />
            </div>
          </Disclosure>
        )}
        {choices.length > 0 ? (
          <div className="row wrap">
            {choices.map((choice, index) => (
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
        {Object.entries(answers).map(([name, schema]) => (
          <DataAnswer
            key={name}
            name={name}
            isText={(schema as { type?: unknown }).type === "string"}
            initial={name === "approve" ? argumentsIn(details) : ""}
            disabled={sent !== ""}
            answer={(value) => answer({ [name]: value })}
          />
        ))}
        {problem && <ProblemNote problem={problem} />}
      </div>
    </div>
  );
}

function argumentsIn(details: unknown): string {
  const given = (details as { arguments?: unknown } | undefined)?.arguments;
  return given === undefined ? "" : JSON.stringify(given, null, 2);
}

const TITLES: Record<string, [string, string]> = {
  approve: ["Edit the arguments", "Approve these arguments"],
  reject: ["Reject with a reason", "Reject"],
};

interface DataProps {
  name: string;
  isText: boolean;
  initial: string;
  disabled: boolean;
  answer: (value: unknown) => void;
}

/** An answer with data: the server checks it against its schema. */
function DataAnswer({ name, isText, initial, disabled, answer }: DataProps) {
  const [words, setWords] = useState(initial);
  const [flaw, setFlaw] = useState("");
  const [title, action] = TITLES[name] ?? [`Give a ${name}`, `Send the ${name}`];
  return (
    <Disclosure title={title}>
      <form
        className="stack data"
        onSubmit={(event) => {
          event.preventDefault();
          try {
            setFlaw("");
            answer(isText ? words : JSON.parse(words));
          } catch (error) {
            setFlaw(`This is not valid JSON: ${(error as Error).message}`);
          }
        }}
      >
        <textarea
          className={isText ? "" : "mono"}
          rows={Math.min(12, words.split("\n").length + 1)}
          aria-label={isText ? "Reason" : title}
          aria-invalid={flaw !== ""}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        {flaw && (
          <p className="bad small" role="alert">
            {flaw}
          </p>
        )}
        <div className="row">
          <button disabled={disabled || !words.trim()}>{action}</button>
        </div>
      </form>
    </Disclosure>
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
          {columns.map((column) => (
            <th key={column} scope="col">
              {column.replaceAll("_", " ")}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            {columns.map((column) => (
              <td key={column}>{readable((row as Record<string, unknown>)[column])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
