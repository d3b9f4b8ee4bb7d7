import { useState } from "react";
import { api, type Fact } from "../../api/client";
import { useTitle } from "../../live/list";
import { useLoaded } from "../../live/load";
import { Bones, Card, Empty, ProblemNote } from "../../parts/parts";
import { go, usePlace, withQuery } from "../../route";
import { FactDialog } from "./fact";
import { FactRows } from "./rows";
import { Review } from "./review";

/** Facts of projects, and facts that runs propose. */
export function BrainPage() {
  const place = usePlace();
  const projects = useLoaded("projects", (signal) => api.projects(signal));
  const known = projects.value?.projects ?? [];
  const name = place.query.get("project") ?? known[0]?.project ?? "";
  useTitle("Brain");
  return (
    <>
      <div className="top">
        <h1 className="grow">Brain</h1>
        {name && (
          <label className="row">
            Project{" "}
            <select
              className="auto"
              value={name}
              onChange={(event) => go(withQuery(place, { project: event.target.value }), true)}
            >
              {known.map((project) => (
                <option key={project.project} value={project.project}>
                  {project.project} ({project.accepted})
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
      {projects.value && known.length === 0 && (
        <div className="card">
          <Empty title="No project has facts yet.">
            <p>Start a studio with a project: what it finds out is kept here for the next run, once you accept it.</p>
          </Empty>
        </div>
      )}
      {name && <ProjectFacts key={name} name={name} changed={projects.again} />}
    </>
  );
}

function ProjectFacts({ name, changed }: { name: string; changed: () => void }) {
  const waiting = useLoaded(`waiting ${name}`, (signal) => api.waiting(name, signal));
  const facts = useLoaded(`facts ${name}`, (signal) => api.facts(name, signal));
  const [opened, setOpened] = useState<Fact | null>(null);
  const again = (): void => {
    waiting.again();
    facts.again();
    changed();
  };
  const problem = waiting.problem ?? facts.problem;
  return (
    <div className="stack">
      {problem && <ProblemNote problem={problem} again={again} />}
      {waiting.value && waiting.value.facts.length > 0 && (
        <Review name={name} waiting={waiting.value} done={again} open={setOpened} />
      )}
      {facts.value && <Canon facts={facts.value.facts} open={setOpened} />}
      {opened && <FactDialog name={name} fact={opened} close={() => setOpened(null)} done={again} />}
    </div>
  );
}

function Canon({ facts, open }: { facts: readonly Fact[]; open: (fact: Fact) => void }) {
  const [words, setWords] = useState("");
  const wanted = words.toLowerCase();
  const shown = facts.filter((fact) =>
    `${fact.subject} ${fact.predicate} ${fact.value}`.toLowerCase().includes(wanted),
  );
  return (
    <Card
      title="Canon"
      flush
      aside={
        <input
          type="search"
          className="finder"
          aria-label="Search facts"
          placeholder="Search facts"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      }
    >
      {shown.length > 0 ? (
        <FactRows facts={shown} open={open} />
      ) : (
        <Empty title={words ? "No fact fits." : "Nothing is canon yet."}>
          {!words && <p>Facts that you accept stand here, and later runs of the project build upon them.</p>}
        </Empty>
      )}
    </Card>
  );
}
