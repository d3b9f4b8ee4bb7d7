import type { RunSummary } from "../../api/client";
import { Glyph, StatusMark } from "../../parts/parts";
import { ago, modelName, oneLine, span } from "../../parts/words";
import { Link } from "../../route";
import { Spend } from "./spend";

export function RunRows({ runs, cursor, now }: { runs: RunSummary[]; cursor: number; now: number }) {
  return (
    <table className="runs">
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Workflow</th>
          <th scope="col">Request</th>
          <th scope="col">Model</th>
          <th scope="col" className="right">
            Cost / budget
          </th>
          <th scope="col" className="right">
            Took
          </th>
          <th scope="col" className="right">
            Age
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run, index) => (
          <tr
            key={run.run_id}
            className={[index === cursor && "selected", run.status === "waiting" && "needs"].filter(Boolean).join(" ")}
          >
            <td>
              <StatusMark status={run.status} />
            </td>
            <td>
              <Glyph workflow={run.workflow} />
            </td>
            <td className="request cut">
              <Link to={`/runs/${run.run_id}`} title={run.run_id}>
                {oneLine(run.request) || run.run_id}
              </Link>
            </td>
            <td className="model quiet small" title={run.model ?? ""}>
              {run.rehearsal ? "rehearsal" : modelName(run.model ?? "")}
            </td>
            <td className="right cost">
              <Spend run={run} />
            </td>
            <td className="right num took">{span(run.duration_s)}</td>
            <td className="right quiet small age">{ago(Date.parse(run.created_at), now)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
