import { useMemo } from "react";
import { api } from "../../api/client";
import { diffOf } from "../../fold/compare";
import { record, text } from "../../fold/events";
import { useLoaded } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Bones, Card, Empty } from "../../parts/parts";
import { readable } from "../../parts/words";

const MOST = 800;

/** What a person would read of a result: its text, where the workflow has one. */
function textOf(output: unknown): string {
  const found = record(output);
  const article = text(record(found.article).content);
  return article || readable(found.document ?? found.deliverable ?? found.summary ?? output);
}

/** A result that was too long for the log lies beside it. */
function useOutput(live: LiveRun): string | null {
  const { outputBlob, output } = live.fold;
  const { value } = useLoaded(`${live.id} ${outputBlob}`, async (signal) =>
    outputBlob ? (JSON.parse(await api.blob(live.id, outputBlob, signal)) as unknown) : null,
  );
  if (outputBlob && value === null) return null;
  return textOf(outputBlob ? value : output);
}

export function Outputs({ one, other }: { one: LiveRun; other: LiveRun }) {
  const [left, right] = [useOutput(one), useOutput(other)];
  const lines = useMemo(() => (left === null || right === null ? null : diffOf(left, right)), [left, right]);
  return (
    <Card title="Output" flush>
      {!lines && <Bones />}
      {lines && left === "" && right === "" && <Empty title="Neither run has a result." />}
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
