import { add, chargeIn, list, maybe, nothing, record, text, texts, type Charge, type LogEvent } from "./events";
import { Steps, chargedBy } from "./steps";
import { detailFor, type Detail } from "./detail";
import { Grades } from "./grades";
import { isImportant } from "./telling";

export type Status = "queued" | "running" | "waiting" | "paused" | "completed" | "partial" | "failed" | "cancelled";

export interface Question {
  path: string;
  question: string;
  choices: string[];
  details: unknown;
  seq: number;
}

export interface Artifact {
  id: string;
  name: string;
  media: string;
  bytes: number;
  path: string;
  seq: number;
}

export interface Ceilings {
  usd: number | null;
  tokens: number | null;
  calls: number | null;
  seconds: number | null;
}

const ENDS: Record<string, Status> = {
  "run.completed": "completed",
  "run.partial": "partial",
  "run.failed": "failed",
  "run.cancelled": "cancelled",
  "run.paused": "paused",
};
export const OVER: ReadonlySet<Status> = new Set(["completed", "partial", "failed", "cancelled"]);

/** Everything about a run that its log tells. The same for a run that goes on and for one of last year. */
export class RunFold {
  version = 0;
  lastSeq = 0;
  readonly events: LogEvent[] = [];
  /** Those of them that a person wants to read. */
  readonly important: LogEvent[] = [];
  /** What each agent has used. */
  readonly agents = new Map<string, Charge>();
  readonly steps = new Steps();
  readonly grades = new Grades();
  readonly questions = new Map<string, Question>();
  readonly artifacts = new Map<string, Artifact>();
  readonly warnings: string[] = [];
  readonly usage = nothing();
  readonly saved = nothing();
  /** Calls under way, by path, with the most that they may cost. When nobody drives the run any more, these are
   * calls of unknown outcome. */
  readonly reserved = new Map<string, Charge>();
  workflow = "";
  request = "";
  options: Record<string, unknown> = {};
  config: Record<string, unknown> = {};
  budget: Ceilings = { usd: null, tokens: null, calls: null, seconds: null };
  status: Status = "queued";
  stopReason = "";
  error = "";
  hint = "";
  missing: string[] = [];
  output: unknown = null;
  outputBlob = 0;
  quality: number | null = null;
  forked: { source: string; at: string; edit: string; steps: number } | null = null;
  resumes = 0;
  createdAt = 0;
  updatedAt = 0;
  drivenS = 0;
  detail: Detail | null = null;
  private stretch: number | null = null;
  private drivenBefore = 0;

  get rehearsal(): boolean {
    return this.config.rehearsal === true;
  }

  get over(): boolean {
    return OVER.has(this.status);
  }

  /** It has come to its end and left something to read, in the log itself or as a blob beside it. */
  get delivered(): boolean {
    return this.over && (this.output !== null || this.outputBlob > 0);
  }

  /** Take more of the log into account. An event that is here already is left out: streams may overlap. */
  apply(events: readonly LogEvent[]): void {
    for (const event of events) {
      if (event.seq > this.lastSeq) this.one(event);
    }
    this.version += 1;
  }

  /** The most that all calls under way may cost together. */
  get held(): Charge {
    const total = nothing();
    for (const worst of this.reserved.values()) add(total, worst);
    return total;
  }

  /** What was spent, seen at a status: when nobody drives the run, its calls under way have an unknown outcome. */
  spent(status: Status): Charge {
    const total = { ...this.usage };
    if (status === "running" || status === "waiting" || status === "queued") return total;
    const { held } = this;
    add(total, { ...held, unknown: held.calls });
    return total;
  }

  /** Driven time up to a moment: a run that goes on gets older between two events. */
  drivenAt(now: number): number {
    if (this.status !== "running" || this.stretch === null) return this.drivenS;
    return this.drivenBefore + Math.max(0, now - this.stretch) / 1000;
  }

  private one(event: LogEvent): void {
    const at = Date.parse(event.time);
    this.lastSeq = event.seq;
    this.updatedAt = at;
    this.events.push(event);
    if (isImportant(event)) this.important.push(event);
    this.steps.apply(event, at);
    const charge = chargedBy(event);
    if (charge) {
      add(this.usage, charge);
      this.reserved.delete(event.path);
      this.spend(event.path, charge);
    }
    if (event.data.saved !== undefined && event.data.inherited !== true) add(this.saved, chargeIn(event.data.saved));
    if (event.type.startsWith("run.")) this.applyRun(event, at);
    else if (event.type === "artifact.created") this.keep(event);
    else if (event.type === "budget.raised") this.limit(record(event.data.budget));
    else if (event.type === "budget.reserved") this.reserved.set(event.path, chargeIn(event.data.reserved));
    this.detail?.apply(event);
    this.grades.apply(event);
    if (this.status === "running" || this.status === "waiting") {
      this.status = this.questions.size > 0 && this.steps.running.size === 0 ? "waiting" : "running";
    }
  }

  private spend(path: string, charge: Charge): void {
    const step = this.steps.charge(path, charge);
    if (!step) return;
    const name = step.agent || "others";
    const sum = this.agents.get(name) ?? nothing();
    add(sum, charge);
    this.agents.set(name, sum);
  }

  private keep(event: LogEvent): void {
    const { data } = event;
    this.artifacts.set(event.path, {
      id: text(data.id),
      name: text(data.name),
      media: text(data.media_type),
      bytes: typeof data.bytes === "number" ? data.bytes : 0,
      path: event.path,
      seq: event.seq,
    });
  }

  private applyRun(event: LogEvent, at: number): void {
    const { data } = event;
    switch (event.type) {
      case "run.created":
        this.workflow = text(data.workflow);
        this.request = typeof data.request === "string" ? data.request : JSON.stringify(data.request ?? "");
        this.options = record(data.options);
        this.config = record(data.config);
        this.createdAt = at;
        this.limit(record(data.budget));
        this.detail = detailFor(this.workflow);
        break;
      case "run.started":
      case "run.resumed":
        this.begin(data, at, event.type === "run.resumed");
        break;
      case "run.waiting":
        this.questions.set(event.path, {
          path: event.path,
          question: text(data.question),
          choices: texts(data.choices),
          details: data.details ?? null,
          seq: event.seq,
        });
        break;
      case "run.answered":
        this.questions.delete(event.path);
        break;
      case "run.warned":
        if (data.first === true) this.warnings.unshift(text(data.message));
        else this.warnings.push(text(data.message));
        break;
      case "run.forked":
        this.forked = {
          source: text(data.source),
          at: text(data.at),
          edit: text(data.edit),
          steps: typeof data.steps === "number" ? data.steps : 0,
        };
        break;
      default:
        this.end(event);
    }
    if (this.stretch !== null && this.status === "running") {
      this.drivenS = this.drivenBefore + (at - this.stretch) / 1000;
    }
  }

  private limit(given: Record<string, unknown>): void {
    for (const name of ["usd", "tokens", "calls", "seconds"] as const) {
      const value = maybe(given[name]);
      if (value !== null) this.budget[name] = value;
    }
  }

  private begin(data: LogEvent["data"], at: number, resumed: boolean): void {
    this.status = "running";
    this.stopReason = this.error = this.hint = "";
    this.drivenBefore = this.drivenS;
    this.stretch = at;
    this.steps.interrupt();
    if (!resumed) return;
    this.resumes += 1;
    this.config = { ...this.config, ...record(data.config) };
    this.limit(record(data.budget));
  }

  private end(event: LogEvent): void {
    const { data } = event;
    const status = ENDS[event.type];
    if (!status) return;
    this.status = status;
    this.stretch = null;
    this.steps.interrupt();
    if (typeof data.driven_s === "number") this.drivenS = data.driven_s;
    this.stopReason = text(data.stop_reason) || text(data.reason);
    this.error = text(data.error);
    this.hint = text(data.hint);
    if (status === "cancelled" || status === "paused") return;
    this.output = data.output ?? null;
    this.outputBlob = data.blob ? event.seq : 0;
    this.quality = maybe(data.quality);
    this.missing = list(data.missing).map((one) => text(one));
  }
}
