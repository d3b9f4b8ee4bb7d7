import type { Fact } from "../../api/client";
import { Link } from "../../route";

const MOST = 500;

/** Facts as a table; each can be opened, to correct it or to see what became of it. */
export function FactRows({ facts, open }: { facts: readonly Fact[]; open: (fact: Fact) => void }) {
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Canon">
      <table className="stacked">
        <thead>
          <tr>
            {["About", "What", "Value", "Kind", "From"].map((column) => (
              <th scope="col" key={column}>
                {column}
              </th>
            ))}
            <th scope="col">
              <span className="only-read">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {facts.slice(0, MOST).map((fact) => (
            <tr key={fact.id}>
              <td>{fact.subject}</td>
              <td>{fact.predicate}</td>
              <td className="wide">{fact.value}</td>
              <td className="quiet">{fact.kind}</td>
              <td className="mono">
                <Link to={`/runs/${fact.source_run}`}>{fact.source_run}</Link>
              </td>
              <td className="right">
                <button className="plain" onClick={() => open(fact)}>
                  Correct<span className="only-read"> {fact.subject}</span>
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {facts.length > MOST && <p className="padded quiet small">The first {MOST}; search for the others.</p>}
    </div>
  );
}
