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
            {["About", "What", "Value", "Kind", "From"].map((one) => (
              <th scope="col" key={one}>
                {one}
              </th>
            ))}
            <th scope="col">
              <span className="only-read">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {facts.slice(0, MOST).map((one) => (
            <tr key={one.id}>
              <td>{one.subject}</td>
              <td>{one.predicate}</td>
              <td className="wide">{one.value}</td>
              <td className="quiet">{one.kind}</td>
              <td className="mono">
                <Link to={`/runs/${one.source_run}`}>{one.source_run}</Link>
              </td>
              <td className="right">
                <button className="plain" onClick={() => open(one)}>
                  Correct<span className="only-read"> {one.subject}</span>
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
