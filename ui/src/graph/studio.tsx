import type { Department, Specialist, StudioView } from "../api/client";
import { own } from "../live/patch";
import { Icon } from "../parts/icons";
import { Empty } from "../parts/parts";
import { points } from "../parts/words";
import { ordered } from "./order";
import { AsTable, type TableRow } from "./table";

type Pick = (path: string) => void;

/** Lanes of departments in the order of their needs; specialists as chips with their grade against the threshold. */
export function StudioGraph({ view, selected, pick }: { view: StudioView; selected: string | null; pick: Pick }) {
  const departments = view.lanes.flatMap((lane) => lane.departments.flatMap((id) => own(view.departments, id) ?? []));
  if (departments.length === 0) return <Empty title="No department was chosen yet." />;
  return (
    <>
      <div className="lanes-view">
        {view.lanes.map((lane) => (
          <section key={lane.departments.join()} className="lane" aria-label={lane.title}>
            <h3>{lane.title}</h3>
            {lane.departments.map((id) => {
              const department = own(view.departments, id);
              return (
                department && (
                  <DepartmentCard key={id} department={department} chosen={selected === department.path} pick={pick} />
                )
              );
            })}
          </section>
        ))}
        <section className="lane" aria-label="Together">
          <h3>Together</h3>
          <Deliverable view={view} pick={pick} />
        </section>
      </div>
      <AsTable
        columns={["Department", "Who", "Status", "Score", "Threshold", "Attempts"]}
        pick={pick}
        rows={() => departments.flatMap(rowsOf)}
      />
    </>
  );
}

function rowsOf(department: Department): TableRow[] {
  const { name, path, label, score_text = "" } = department;
  return [
    { path, cells: [name, "Head", label, score_text, "", ""] },
    ...ordered(department.specialists).map((specialist) => ({
      path: specialist.path,
      cells: [
        name,
        specialist.name,
        specialist.label,
        specialist.score === undefined ? "" : points(specialist.score),
        points(specialist.threshold),
        String(specialist.attempts.length),
      ],
    })),
  ];
}

function Deliverable({ view, pick }: { view: StudioView; pick: Pick }) {
  const { path, status, text, warn } = view.deliverable;
  const conflicts = Object.entries(view.conflicts);
  return (
    <div className={`dept ${status}`}>
      <button className="face" onClick={() => pick(path)}>
        <span className={`status ${status}`}>
          <Icon name={status} label={status} />
        </span>
        <strong className="grow">Deliverable</strong>
        {!warn && <span className="num">{text}</span>}
      </button>
      {warn && <p className="small warn">{text}</p>}
      {conflicts.length > 0 && (
        <details className="bare small">
          <summary className="quiet">{view.conflicts_text}</summary>
          <ul className="list">
            {conflicts.map(([id, conflict]) => (
              <li key={id} className="wrap-any">
                <span className="chip">{conflict.severity}</span> {conflict.description}
                {conflict.resolved_by && (
                  <p className="quiet">
                    {conflict.resolved_by}: {conflict.reason}
                  </p>
                )}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function DepartmentCard({ department, chosen, pick }: { department: Department; chosen: boolean; pick: Pick }) {
  const { name, path, status, label, lead, score_text, error, note } = department;
  return (
    <div className={`dept appear ${status}${chosen ? " chosen" : ""}`}>
      <button className="face" onClick={() => pick(path)}>
        <span className={`status ${status}`}>
          <Icon name={status} label={label} />
        </span>
        <strong className="grow cut">{name}</strong>
        {lead && <span className="chip accent">lead</span>}
        {score_text && <span className="num">{score_text}</span>}
      </button>
      {error && <p className="small bad">{error}</p>}
      {note && <p className="small warn">{note}</p>}
      <div className="chips">
        {ordered(department.specialists).map((specialist) => (
          <SpecialistChip key={specialist.id} specialist={specialist} pick={pick} />
        ))}
      </div>
    </div>
  );
}

function SpecialistChip({ specialist, pick }: { specialist: Specialist; pick: Pick }) {
  const { name, path, tone, text, attempts } = specialist;
  return (
    <button className={`who-chip ${tone}`} onClick={() => pick(path)} title={attempts.at(-1)?.feedback}>
      <span className="cut">{name}</span>
      <span className="num">{text}</span>
      {attempts.length > 1 && (
        <span className="dots" aria-label={`${attempts.length} attempts`}>
          {attempts.map((_, index) => (
            <i key={index} />
          ))}
        </span>
      )}
    </button>
  );
}
