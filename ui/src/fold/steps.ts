import { add, chargeIn, nothing, number, record, text, type Charge, type LogEvent } from "./events";

export type StepStatus = "running" | "completed" | "failed" | "stale" | "interrupted";

/** One step as the log tells it. */
export interface Step {
  path: string;
  kind: string;
  agent: string;
  task: string;
  model: string;
  status: StepStatus;
  seq: number;
  startedAt: number;
  endedAt: number | null;
  charge: Charge;
  retries: number;
  repairs: number;
  error: string;
  inherited: boolean;
  edited: boolean;
  cached: boolean;
  system: string;
  prompt: string;
  /** The event whose blob holds the prompt, where it was too long for the log; 0: there is none. */
  promptBlob: number;
  result: unknown;
  resultBlob: number;
  /** When each call on the wire ended, for the segments of a timeline. */
  attempts: { at: number; ok: boolean; error: string }[];
}

function newStep(event: LogEvent, at: number): Step {
  return {
    path: event.path,
    kind: "step",
    agent: "",
    task: "",
    model: "",
    status: "running",
    seq: event.seq,
    startedAt: at,
    endedAt: null,
    charge: nothing(),
    retries: 0,
    repairs: 0,
    error: "",
    inherited: false,
    edited: false,
    cached: false,
    system: "",
    prompt: "",
    promptBlob: 0,
    result: undefined,
    resultBlob: 0,
    attempts: [],
  };
}

/** All steps of a run, in the order in which they began. */
export class Steps {
  readonly byPath = new Map<string, Step>();
  readonly running = new Set<string>();

  private readonly looks = new Set<string>();

  /** How many there are, without looks at the clock: the number that the report tells too. */
  get counted(): number {
    return this.byPath.size - this.looks.size;
  }

  get all(): Step[] {
    return [...this.byPath.values()];
  }

  /** A new driver begins: what was under way came to nothing. */
  interrupt(): void {
    for (const path of this.running) {
      const step = this.byPath.get(path);
      if (step) step.status = "interrupted";
    }
    this.running.clear();
  }

  charge(path: string, amount: Charge): Step | undefined {
    const step = this.byPath.get(path);
    if (step) add(step.charge, amount);
    return step;
  }

  apply(event: LogEvent, at: number): void {
    if (event.type.startsWith("step.")) this.applyStep(event, at);
    else if (event.type.startsWith("model.")) this.applyModel(event, at);
  }

  private applyStep(event: LogEvent, at: number): void {
    const { data } = event;
    let step = this.byPath.get(event.path);
    if (!step) this.byPath.set(event.path, (step = newStep(event, at)));
    const inherited = data.inherited === true;
    switch (event.type) {
      case "step.started": {
        const about = record(data.about);
        Object.assign(step, {
          kind: text(data.kind, "step"),
          agent: text(about.agent),
          task: text(about.task),
          model: text(about.model),
          status: "running",
          error: "",
          startedAt: at,
          endedAt: null,
          seq: event.seq,
          inherited,
        });
        this.running.add(event.path);
        if (step.kind === "clock") this.looks.add(event.path);
        break;
      }
      case "step.completed":
        step.status = "completed";
        this.end(step, at, inherited);
        step.edited = data.edited === true;
        step.result = data.blob ? undefined : (data.result ?? null);
        step.resultBlob = data.blob ? event.seq : 0;
        break;
      case "step.failed":
        step.status = "failed";
        step.error = text(data.error);
        this.end(step, at, inherited);
        break;
      case "step.retried":
        step.retries += 1;
        break;
      case "step.stale":
        step.status = "stale";
        break;
    }
  }

  private end(step: Step, at: number, inherited: boolean): void {
    step.endedAt = at;
    step.inherited = inherited;
    this.running.delete(step.path);
  }

  private applyModel(event: LogEvent, at: number): void {
    const step = this.byPath.get(event.path);
    if (!step) return;
    const { data } = event;
    switch (event.type) {
      case "model.asked":
        step.system = text(data.system);
        step.prompt = text(data.prompt);
        step.promptBlob = data.blob ? event.seq : 0;
        step.model = text(data.model) || step.model;
        break;
      case "model.attempted":
        step.attempts.push({ at, ok: data.ok === true, error: text(data.error) });
        step.model = text(data.model) || step.model;
        break;
      case "model.repaired":
        step.repairs += 1;
        break;
      case "model.cached":
        step.cached = true;
        step.model = text(data.model) || step.model;
        break;
    }
  }
}

export function chargedBy(event: LogEvent): Charge | null {
  return event.data.charge !== undefined && event.data.inherited !== true ? chargeIn(event.data.charge) : null;
}

/** A look at the clock is a step too, for replays; nobody wants to see it. */
export const isClock = (step: Step): boolean =>
  step.kind === "clock" || /(^|\/)(clock|now)(\[[^\]]*\])?(#\d+)?$/.test(step.path);

export const seconds = (step: Step, now: number): number =>
  Math.max(0, ((step.endedAt ?? now) - step.startedAt) / 1000);

export const cost = (step: Step): number => number(step.charge.usd);
