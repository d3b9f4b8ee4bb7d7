import { useState } from "react";
import { api, Problem, type Waiting } from "../api/client";
import { useTitle } from "../live/list";
import { useLoaded } from "../live/load";
import { Icon } from "../parts/icons";
import { Bones, Card, Empty, ProblemNote } from "../parts/parts";
import { go, Link, usePlace, withQuery } from "../route";

/** What projects know, and what runs propose that they should know. */
export function BrainPage() {
  const place = usePlace();
  const projects = useLoaded("projects", (signal) => api.projects(signal));
  const name = place.query.get("project") ?? projects.value?.projects[0]?.project ?? "";
  useTitle("Brain");
  return (
    <>
      <div className="top">
        <h1 className="grow">Brain</h1>
        {name && (
          <label className="row">
            Project{" "}
            <select
              value={name}
              style={{ width: "auto" }}
              onChange={(event) => go(withQuery(place, { project: event.target.value }), true)}
            >
              {projects.value?.projects.map((one) => (
                <option key={one.project} value={one.project}>
                  {one.project} ({one.accepted})
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {projects.problem && <ProblemNote problem={projects.problem} again={projects.again} />}
      {projects.loading && !projects.value && (
        <div className="card">
          <Bones />
        </div>
      )}
      {projects.value?.projects.length === 0 && (
        <div className="card">
          <Empty title="No project knows anything yet.">
            <p>
              Start a studio with a project: what it finds out about people, places and things is kept here for the next
              run.
            </p>
          </Empty>
        </div>
      )}
      {name && <ProjectFacts key={name} name={name} />}
    </>
  );
}

function ProjectFacts({ name }: { name: string }) {
  const waiting = useLoaded(`waiting ${name}`, (signal) => api.waiting(name, signal));
  const facts = useLoaded(`facts ${name}`, (signal) => api.facts(name, signal));
  const [words, setWords] = useState("");
  const again = (): void => {
    waiting.again();
    facts.again();
  };
  const shown =
    facts.value?.facts.filter(
      (one) =>
        one.status === "accepted" &&
        `${one.subject} ${one.predicate} ${one.value}`.toLowerCase().includes(words.toLowerCase()),
    ) ?? [];
  return (
    <div className="stack">
      {(waiting.problem ?? facts.problem) && (
        <ProblemNote problem={(waiting.problem ?? facts.problem) as Problem} again={again} />
      )}
      {waiting.value && waiting.value.facts.length > 0 && <Review name={name} waiting={waiting.value} done={again} />}
      <Card
        title="Canon"
        flush
        aside={
          <input
            type="search"
            aria-label="Search facts"
            placeholder="Search facts"
            style={{ width: 200 }}
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
        }
      >
        {shown.length === 0 ? (
          <Empty title="No fact here." />
        ) : (
          <div className="scroll" tabIndex={0} role="group" aria-label="Canon">
            <table>
              <thead>
                <tr>
                  <th scope="col">About</th>
                  <th scope="col">What</th>
                  <th scope="col">Value</th>
                  <th scope="col">Kind</th>
                  <th scope="col">From</th>
                </tr>
              </thead>
              <tbody>
                {shown.slice(0, 500).map((one) => (
                  <tr key={one.id}>
                    <td>{one.subject}</td>
                    <td>{one.predicate}</td>
                    <td>{one.value}</td>
                    <td className="quiet">{one.kind}</td>
                    <td className="mono">
                      <Link to={`/runs/${one.source_run}`}>{one.source_run}</Link>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Card>
    </div>
  );
}

function Review({ name, waiting, done }: { name: string; waiting: Waiting; done: () => void }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const decide = (what: "accept" | "replace" | "discard", ids: string[]): void => {
    setProblem(null);
    api
      .review(name, { [what]: ids })
      .then(done, (error: unknown) => setProblem(error instanceof Problem ? error : new Problem(0, String(error))));
  };
  const clashOf = (id: string) => waiting.clashes.find((one) => one.new === id);
  const easy = waiting.facts.filter((one) => !clashOf(one.id)).map((one) => one.id);
  return (
    <Card
      title={`${waiting.facts.length} facts wait for you`}
      flush
      aside={easy.length > 0 && <button onClick={() => decide("accept", easy)}>Accept all that fit</button>}
    >
      {problem && (
        <div className="padded">
          <ProblemNote problem={problem} />
        </div>
      )}
      <div className="scroll" tabIndex={0} role="group" aria-label="Facts that wait">
        <table>
          <thead>
            <tr>
              <th scope="col">About</th>
              <th scope="col">What</th>
              <th scope="col">Value</th>
              <th scope="col">Your decision</th>
            </tr>
          </thead>
          <tbody>
            {waiting.facts.map((one) => {
              const clash = clashOf(one.id);
              return (
                <tr key={one.id}>
                  <td>{one.subject}</td>
                  <td>{one.predicate}</td>
                  <td>
                    {one.value}
                    {clash && (
                      <div className="warn small row">
                        <Icon name="warn" />
                        Canon says: {clash.canon.value}
                      </div>
                    )}
                  </td>
                  <td>
                    <span className="row">
                      {clash ? (
                        <button onClick={() => decide("replace", [one.id])}>Replace canon</button>
                      ) : (
                        <button onClick={() => decide("accept", [one.id])}>Accept</button>
                      )}
                      <button className="plain" onClick={() => decide("discard", [one.id])}>
                        Discard
                      </button>
                    </span>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
