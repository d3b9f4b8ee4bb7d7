import { useMemo } from "react";
import { api } from "../../api/client";
import { useLoaded } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Bones, Card, Empty, ProblemNote } from "../../parts/parts";
import { diffOf } from "./diff";

const MOST = 800;

/** The text that a person reads first of each result, line by line. */
export function Outputs({ left, right }: { left: LiveRun; right: LiveRun }) {
  const [a, b] = [useDeliverable(left), useDeliverable(right)];
  const lines = useMemo(
    () => (a.value === null || b.value === null ? null : diffOf(a.value, b.value)),
    [a.value, b.value],
  );
  const problem = a.problem ?? b.problem;
  return (
    <Card title="Output" flush>
      {problem ? <ProblemNote problem={problem} /> : !lines && <Bones />}
      {a.value === "" && b.value === "" && <Empty title="Neither run has a result." />}
      <div className="diff" role="group" aria-label="Output, line by line">
        {lines?.slice(0, MOST).flatMap((line, index) => [
          <pre key={`l${index}`} className={line.right === null ? "gone" : ""}>
            {line.left ?? ""}
          </pre>,
          <pre key={`r${index}`} className={line.left === null ? "new" : ""}>
            {line.right ?? ""}
          </pre>,
        ])}
      </div>
    </Card>
  );
}

function useDeliverable({ id, view }: LiveRun) {
  return useLoaded(`${id} ${view.output_seq ?? 0}`, async (signal) => (await api.run(id, signal)).deliverable);
}
