import { useState } from "react";
import { api, problemOf, type Fact, type Problem, type Waiting } from "../../api/client";
import { Icon } from "../../parts/icons";
import { Card, ProblemNote } from "../../parts/parts";
import { many } from "../../parts/words";

type Decision = "accept" | "replace" | "discard";

interface Props {
  name: string;
  waiting: Waiting;
  done: () => void;
  open: (fact: Fact) => void;
}

/** Facts that runs propose. They become canon when a person accepts them. */
export function Review({ name, waiting, done, open }: Props) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const decide = (what: Decision, ids: string[]): void => {
    setProblem(null);
    api.review(name, { [what]: ids }).then(done, (error: unknown) => setProblem(problemOf(error)));
  };
  const clashOf = (id: string) => waiting.clashes.find((clash) => clash.new === id);
  const easy = waiting.facts.filter((fact) => !clashOf(fact.id)).map((fact) => fact.id);
  return (
    <Card
      title={`${many(waiting.facts.length, "fact waits", "facts wait")} for you`}
      flush
      aside={easy.length > 0 && <button onClick={() => decide("accept", easy)}>Accept all that fit</button>}
    >
      {problem && (
        <div className="padded">
          <ProblemNote problem={problem} />
        </div>
      )}
      <div className="scroll" tabIndex={0} role="group" aria-label="Facts that wait">
        <table className="stacked">
          <thead>
            <tr>
              <th scope="col">About</th>
              <th scope="col">What</th>
              <th scope="col">Value</th>
              <th scope="col">Your decision</th>
            </tr>
          </thead>
          <tbody>
            {waiting.facts.map((fact) => (
              <Proposed key={fact.id} fact={fact} clash={clashOf(fact.id)} decide={decide} open={open} />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function Proposed({
  fact,
  clash,
  decide,
  open,
}: {
  fact: Fact;
  clash: Waiting["clashes"][number] | undefined;
  decide: (what: Decision, ids: string[]) => void;
  open: (fact: Fact) => void;
}) {
  const about = <span className="only-read"> {fact.subject}</span>;
  return (
    <tr>
      <td>{fact.subject}</td>
      <td>{fact.predicate}</td>
      <td className="wide">
        {fact.value}
        {clash && (
          <div className="warn small row">
            <Icon name="warn" />
            Canon says: {clash.canon.value}
          </div>
        )}
      </td>
      <td>
        <span className="row">
          <button onClick={() => decide(clash ? "replace" : "accept", [fact.id])}>
            {clash ? "Replace canon" : "Accept"}
            {about}
          </button>
          <button className="plain" onClick={() => open(fact)}>
            Correct{about}
          </button>
          <button className="plain" onClick={() => decide("discard", [fact.id])}>
            Discard{about}
          </button>
        </span>
      </td>
    </tr>
  );
}
