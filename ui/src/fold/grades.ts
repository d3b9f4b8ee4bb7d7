import { list, maybe, number, record, text, texts, type LogEvent } from "./events";

/** What somebody said about a piece of work: a grade, a check of a gate, tests that ran. */
export interface Grade {
  seq: number;
  what: string;
  score: number | null;
  threshold: number | null;
  passed: boolean;
  decision: string;
  feedback: string[];
}

type Reader = (data: LogEvent["data"]) => Omit<Grade, "seq">;

const READERS: Record<string, Reader> = {
  "studio.specialist_graded": (data) => ({
    what: "Grade",
    score: maybe(data.score),
    threshold: maybe(data.threshold),
    passed: text(data.decision) === "accept",
    decision: text(data.decision),
    feedback: [text(data.feedback)],
  }),
  "build.verified": (data) => {
    const result = record(data.result);
    const issues = list(result.issues).map((one) => text(record(one).description) || text(one) || JSON.stringify(one));
    return {
      what: `Gate: ${text(data.gate)}`,
      score: maybe(result.score),
      threshold: maybe(data.threshold),
      passed: data.passed === true,
      decision: text(result.recommendation),
      feedback: [text(result.reason), ...issues, ...texts(data.problems)],
    };
  },
  "build.tests_run": (data) => {
    const result = record(data.result);
    const failures = list(result.failures).map(record);
    return {
      what: "Tests",
      score: null,
      threshold: null,
      passed: result.ok === true,
      decision: `${number(result.passed)} passed, ${number(result.failed) + number(result.errors)} failed`,
      feedback: failures.map((one) => `${text(one.name)}: ${text(one.message)}`),
    };
  },
  "research.evaluated": (data) => ({
    what: "Quality",
    score: maybe(data.quality),
    threshold: maybe(data.threshold),
    passed: number(data.quality) >= number(data.threshold),
    decision: text(data.decision).replaceAll("_", " "),
    feedback: texts(data.feedback),
  }),
  "tree.node_result": (data) => {
    const found = record(record(data.result).successAssessment);
    return {
      what: "Success criteria",
      score: null,
      threshold: null,
      passed: found.met === true,
      decision: found.met === true ? "met" : "not met",
      feedback: [text(found.notes)],
    };
  },
};

/** Grades by the branch of the log that they are about, so that a step finds those of its own attempt. */
export class Grades {
  private readonly byPath = new Map<string, Grade[]>();

  apply(event: LogEvent): void {
    const read = READERS[event.type];
    if (!read) return;
    const grade = { seq: event.seq, ...read(event.data) };
    grade.feedback = grade.feedback.filter(Boolean);
    this.byPath.set(event.path, [...(this.byPath.get(event.path) ?? []), grade]);
  }

  /** Those of the nearest branch that holds a step; what was said of the whole run is not about one deep step. */
  of(path: string): readonly Grade[] {
    for (let at = path; at !== "";) {
      const found = this.byPath.get(at);
      if (found) return found;
      const cut = at.lastIndexOf("/");
      if (cut === -1) return path.includes("/") ? [] : (this.byPath.get("") ?? []);
      at = at.slice(0, cut);
    }
    return [];
  }
}

/** Which try of an attempt's branch a step belongs to: 1 where it was the only one. */
export function attemptIn(path: string): number {
  const found = [...path.matchAll(/(?:^|\/)attempt(?:\[(\d+)\])?(?:#(\d+))?(?=\/|$)/g)].at(-1);
  return found ? Number(found[2] ?? found[1] ?? 1) : 1;
}
