import type { Department, Specialist, StudioFold } from "../fold/studio";
import { Icon } from "../parts/icons";
import { points } from "../parts/words";
import { AsTable } from "./table";

const MARKS: Record<string, string> = {
  waiting: "queued",
  running: "running",
  completed: "completed",
  failed: "failed",
};

/** Lanes of departments in the order of their needs; specialists as chips with their grade against the threshold. */
export function StudioGraph({
  fold,
  selected,
  pick,
}: {
  fold: StudioFold;
  selected: string | null;
  pick: (path: string) => void;
}) {
  const lanes = fold.lanes();
  const conflicts = [...fold.conflicts.values()];
  return (
    <>
      <div className="lanes-view">
        {lanes.map((lane, index) => (
          <section key={index} className="lane" aria-label={`Lane ${index + 1}`}>
            <h3>{index === 0 ? "First" : `Then, with what came before`}</h3>
            {lane.map((one) => (
              <DepartmentCard
                key={one.id}
                one={one}
                lead={one.id === fold.primary}
                chosen={selected === one.id}
                pick={pick}
              />
            ))}
          </section>
        ))}
        {lanes.length > 0 && (
          <section className="lane" aria-label="Together">
            <h3>Together</h3>
            <div className={`dept ${fold.aggregated ? "completed" : "waiting"}`}>
              <button className="face" onClick={() => pick(fold.writtenAt())}>
                <span className={`status ${fold.aggregated ? "completed" : "queued"}`}>
                  <Icon name={fold.aggregated ? "completed" : "queued"} />
                </span>
                <strong className="grow">Deliverable</strong>
                {!fold.replaced && <span className="num">{fold.outcome()}</span>}
              </button>
              {fold.replaced && <p className="small warn">{fold.outcome()}</p>}
              {conflicts.length > 0 && (
                <p className="small quiet">
                  {conflicts.length} conflicts, {conflicts.filter((one) => one.resolvedBy).length} resolved
                </p>
              )}
            </div>
          </section>
        )}
      </div>
      <AsTable
        columns={["Department", "Who", "Status", "Score", "Threshold", "Attempts"]}
        pick={pick}
        rows={() =>
          [...fold.departments.values()].flatMap((one) => [
            { path: one.id, cells: [one.name, "Head", one.status, show(one.score), "", ""] },
            ...[...one.specialists.values()].map((who) => ({
              path: `${one.id}/${who.id}`,
              cells: [
                one.name,
                who.name,
                who.status,
                show(who.score),
                show(who.threshold),
                String(who.attempts.length),
              ],
            })),
          ])
        }
      />
    </>
  );
}

const show = (score: number | null): string => (score === null ? "" : points(score));

function DepartmentCard({
  one,
  lead,
  chosen,
  pick,
}: {
  one: Department;
  lead: boolean;
  chosen: boolean;
  pick: (path: string) => void;
}) {
  const mark = MARKS[one.status] ?? "queued";
  return (
    <div className={`dept appear ${one.status}${chosen ? " chosen" : ""}`}>
      <button className="face" onClick={() => pick(one.id)}>
        <span className={`status ${mark}`}>
          <Icon name={mark} label={one.status} />
        </span>
        <strong className="grow cut">{one.name}</strong>
        {lead && <span className="chip accent">lead</span>}
        {one.score !== null && <span className="num">{points(one.score)}</span>}
      </button>
      {one.error && <p className="small bad">{one.error}</p>}
      {one.missing.length > 0 && <p className="small warn">Without {one.missing.join(", ")}</p>}
      <div className="chips">
        {[...one.specialists.values()].map((who) => (
          <SpecialistChip key={who.id} who={who} path={`${one.id}/${who.id}`} pick={pick} />
        ))}
      </div>
    </div>
  );
}

function SpecialistChip({ who, path, pick }: { who: Specialist; path: string; pick: (path: string) => void }) {
  const tone = who.score === null ? "" : who.score >= who.threshold ? "good" : "low";
  return (
    <button className={`who-chip ${tone}`} onClick={() => pick(path)} title={who.attempts.at(-1)?.feedback}>
      <span className="cut">{who.name}</span>
      <span className="num">
        {who.score === null
          ? who.status === "running"
            ? "…"
            : who.status
          : `${points(who.score)} / ${points(who.threshold)}`}
      </span>
      {who.attempts.length > 1 && (
        <span className="dots" aria-label={`${who.attempts.length} attempts`}>
          {who.attempts.map((_, index) => (
            <i key={index} />
          ))}
        </span>
      )}
    </button>
  );
}
