import type { Grade, RunView } from "../../api/client";
import { Icon } from "../../parts/icons";
import { Disclosure } from "../../parts/parts";

const SHOWN = 12;

/** The sentence that belongs to scores which a rehearsal made up. */
export function ScoresNote({ view }: { view: RunView }) {
  if (!view.scores_note) return null;
  return <p className="scores-note small quiet">{view.scores_note}</p>;
}

/** The grade of a piece of work: its score against its threshold, and the feedback. */
export function GradeNotes({ view, grades }: { view: RunView; grades: readonly Grade[] }) {
  const feedback = grades.flatMap((grade) => grade.feedback);
  if (grades.length === 0) return null;
  return (
    <>
      {grades.some(({ text }) => text) && <ScoresNote view={view} />}
      <ul className="grades" aria-label="Grades">
        {grades.slice(-SHOWN).map(({ what, passed, decision, text }, index) => (
          <li key={index} className="row">
            <span className={`status ${passed ? "completed" : "partial"}`}>
              <Icon name={passed ? "completed" : "warn"} label={passed ? "passed" : "not passed"} />
            </span>
            <span className="grow">{what}</span>
            <span className="quiet small">{decision}</span>
            {text && <strong className="num">{text}</strong>}
          </li>
        ))}
      </ul>
      {feedback.length > 0 && (
        <Disclosure title="Feedback">
          <ul className="document list">
            {feedback.map((remark, index) => (
              <li key={index} className="prose">
                {remark}
              </li>
            ))}
          </ul>
        </Disclosure>
      )}
    </>
  );
}
