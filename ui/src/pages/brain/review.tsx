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

/** What runs propose: nothing of it is canon before a person says so. */
export function Review({ name, waiting, done, open }: Props) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const decide = (what: Decision, ids: string[]): void => {
    setProblem(null);
    api.review(name, { [what]: ids }).then(done, (error: unknown) => setProblem(problemOf(error)));
  };
  const clashOf = (id: string) => waiting.clashes.find((one) => one.new === id);
  const easy = waiting.facts.filter((one) => !clashOf(one.id)).map((one) => one.id);
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
            {waiting.facts.map((one) => (
              <Proposed key={one.id} fact={one} clash={clashOf(one.id)} decide={decide} open={open} />
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
