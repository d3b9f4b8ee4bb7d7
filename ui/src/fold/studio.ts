import { points } from "../parts/words";
import { list, maybe, number, record, text, texts, type LogEvent } from "./events";

export interface Attempt {
  score: number | null;
  decision: string;
  feedback: string;
}

export interface Specialist {
  id: string;
  name: string;
  threshold: number;
  score: number | null;
  status: string;
  error: string;
  attempts: Attempt[];
}

export interface Department {
  id: string;
  name: string;
  needs: string[];
  status: "waiting" | "running" | "completed" | "failed";
  score: number | null;
  error: string;
  flags: string[];
  missing: string[];
  specialists: Map<string, Specialist>;
}

/** Departments in the order of their needs, specialists with their grades, conflicts. */
export class StudioFold {
  readonly kind = "studio";
  readonly departments = new Map<string, Department>();
  readonly conflicts = new Map<string, { description: string; severity: string; resolvedBy: string }>();
  team = "";
  primary = "";
  mode = "";
  /** The quality of the team's text. */
  teamQuality: number | null = null;
  aggregated = false;
  /** The direct draft was judged better than the team's text, and is the result. */
  replaced = false;

  apply(event: LogEvent): void {
    if (event.type === "floor.compared") this.replaced = text(event.data.preferred) === "draft";
    if (!event.type.startsWith("studio.")) return;
    const { data } = event;
    const id = text(data.id);
    switch (event.type) {
      case "studio.routed":
        this.route(data);
        break;
      case "studio.conflict_found":
        this.conflicts.set(id, {
          description: text(data.description),
          severity: text(data.severity),
          resolvedBy: "",
        });
        break;
      case "studio.conflict_resolved": {
        const found = this.conflicts.get(id);
        if (found) found.resolvedBy = text(data.by);
        break;
      }
      case "studio.aggregated":
        this.teamQuality = maybe(data.quality);
        this.aggregated = true;
        this.replaced = false;
        break;
      default:
        if (data.department) this.work(event, this.department(text(data.department)));
    }
  }

  /** What the result is worth, as far as it is known: a direct draft has no grades. */
  outcome(): string {
    const quality = this.teamQuality === null ? "" : points(this.teamQuality);
    if (!this.replaced) return quality;
    return `The direct draft is the result${quality && `; the team's text: ${quality}`}`;
  }

  /** The path at which the deliverable was written: a single department's text is handed over as it is. */
  writtenAt(): string {
    const [first, ...others] = this.departments.keys();
    return first !== undefined && others.length === 0 ? first : "aggregate";
  }

  /** Lanes: each holds departments that wait only for those of earlier ones. */
  lanes(): Department[][] {
    const placed = new Set<string>();
    const lanes: Department[][] = [];
    let left = [...this.departments.values()];
    while (left.length > 0) {
      const ready = left.filter((one) => one.needs.every((need) => placed.has(need) || !this.departments.has(need)));
      const lane = ready.length > 0 ? ready : left; // a circle in a log: show it all rather than nothing
      lanes.push(lane);
      lane.forEach((one) => placed.add(one.id));
      left = left.filter((one) => !placed.has(one.id));
    }
    return lanes;
  }

  private route(data: LogEvent["data"]): void {
    this.team = text(data.team);
    this.primary = text(data.primary);
    this.mode = text(data.mode);
    const names = record(data.names);
    const needs = record(data.needs);
    for (const id of [this.primary, ...texts(data.supporting)].filter(Boolean)) {
      const found = this.department(id);
      found.name = text(names[id], found.name);
      found.needs = list(needs[id]).map((one) => text(one));
    }
  }

  private department(id: string): Department {
    let found = this.departments.get(id);
    if (!found) {
      found = {
        id,
        name: id,
        needs: [],
        status: "waiting",
        score: null,
        error: "",
        flags: [],
        missing: [],
        specialists: new Map(),
      };
      this.departments.set(id, found);
    }
    return found;
  }

  private work({ type, data }: LogEvent, department: Department): void {
    switch (type) {
      case "studio.department_started":
        department.status = "running";
        department.name = text(data.name, department.name);
        department.missing = texts(data.missing);
        break;
      case "studio.department_completed":
        department.status = "completed";
        department.score = maybe(data.score);
        department.flags = texts(data.flags);
        break;
      case "studio.department_failed":
        department.status = "failed";
        department.error = text(data.error);
        break;
      default:
        if (data.specialist) grade(type, data, department);
    }
  }
}

function grade(type: string, data: LogEvent["data"], department: Department): void {
  const id = text(data.specialist);
  let found = department.specialists.get(id);
  if (!found) {
    found = { id, name: id, threshold: 0, score: null, status: "running", error: "", attempts: [] };
    department.specialists.set(id, found);
  }
  found.threshold = number(data.threshold, found.threshold);
  switch (type) {
    case "studio.specialist_started":
      found.name = text(data.name, id);
      found.status = "running";
      break;
    case "studio.specialist_graded":
      found.score = maybe(data.score);
      found.attempts.push({ score: found.score, decision: text(data.decision), feedback: text(data.feedback) });
      break;
    case "studio.specialist_reviewed":
      found.score = maybe(data.score);
      found.status = text(data.status);
      found.error = text(data.error);
      break;
  }
}
