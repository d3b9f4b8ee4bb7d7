import type { Grade } from "../../fold/grades";
import { Icon } from "../../parts/icons";
import { Fold } from "../../parts/parts";

const SHOWN = 12;

/** How a piece of work was judged: the grade against its threshold, and what was said about it. */
export function GradeNotes({ grades }: { grades: readonly Grade[] }) {
  const said = grades.flatMap((one) => one.feedback);
  if (grades.length === 0) return null;
  return (
    <>
      <ul className="grades" aria-label="Grades">
        {grades.slice(-SHOWN).map((one) => (
          <li key={one.seq} className="row">
            <span className={`status ${one.passed ? "completed" : "partial"}`}>
              <Icon name={one.passed ? "completed" : "warn"} label={one.passed ? "passed" : "not passed"} />
            </span>
            <span className="grow">{one.what}</span>
            <span className="quiet small">{one.decision}</span>
            {one.score !== null && <strong className="num">{scored(one)}</strong>}
          </li>
        ))}
      </ul>
      {said.length > 0 && (
        <Fold title="Feedback">
          <ul className="document list">
            {said.map((one, index) => (
              <li key={index} className="prose">
                {one}
              </li>
            ))}
          </ul>
        </Fold>
      )}
    </>
  );
}

function scored({ score, threshold }: Grade): string {
  const digits = (threshold ?? score ?? 0) <= 1 ? 2 : 0;
  const given = score?.toFixed(digits) ?? "";
  return threshold === null ? given : `${given} / ${threshold.toFixed(digits)}`;
}
