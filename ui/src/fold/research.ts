import { list, maybe, number, record, text, texts, type LogEvent } from "./events";

export interface Worker {
  id: string;
  /** Where its steps lie in the log. */
  path: string;
  category: string;
  iteration: number;
  step: number;
  status: "running" | "completed" | "kept" | "skipped" | "failed";
  attempts: number;
  result: Record<string, unknown>;
  error: string;
}

export interface Source {
  title: string;
  url: string;
  kind: string;
}

export interface Evaluation {
  iteration: number;
  quality: number;
  threshold: number;
  decision: string;
  components: Record<string, number>;
  feedback: string[];
}

/** The state machine with its laps, the workers of each, and how good the result was found. */
export class ResearchFold {
  readonly kind = "research";
  readonly phases: { to: string; iteration: number; reason: string }[] = [];
  readonly workers = new Map<string, Worker>();
  readonly evaluations: Evaluation[] = [];
  planned: string[] = [];
  /** Sources that workers found, each once, by address. */
  readonly found = new Map<string, Source>();
  sources: number | null = null;
  words: number | null = null;

  apply({ type, data, path }: LogEvent): void {
    if (!type.startsWith("research.")) return;
    const iteration = number(data.iteration, 1);
    switch (type) {
      case "research.phase":
        this.phases.push({ to: text(data.to), iteration, reason: text(data.reason) });
        break;
      case "research.plan_created":
      case "research.plan_optimized":
        this.planned = plannedIn(record(data.plan));
        break;
      case "research.evaluated":
        this.evaluations.push({
          iteration,
          quality: number(data.quality),
          threshold: number(data.threshold),
          decision: text(data.decision),
          feedback: texts(data.feedback),
          components: Object.fromEntries(Object.entries(record(data.components)).map(([key, of]) => [key, number(of)])),
        });
        break;
      case "research.merged":
        this.sources = maybe(data.sources);
        this.words = maybe(data.word_count);
        break;
      default:
        if (data.worker) this.work(type, data, iteration, path);
    }
  }

  private work(type: string, data: LogEvent["data"], iteration: number, path: string): void {
    const id = `${iteration}:${text(data.task_id) || text(data.worker)}`;
    let found = this.workers.get(id) ?? this.named(text(data.worker), iteration);
    if (!found) {
      found = {
        id: text(data.worker),
        path,
        category: text(data.category),
        iteration,
        step: number(data.step),
        status: "running",
        attempts: 1,
        result: {},
        error: "",
      };
      this.workers.set(id, found);
    }
    found.attempts = number(data.attempts, number(data.attempt, found.attempts));
    found.error = text(data.error);
    if (type === "research.worker_completed") {
      found.status = data.kept === true ? "kept" : "completed";
      found.result = record(data.result);
      for (const source of list(found.result.sources)) this.source(record(source));
    } else if (type === "research.worker_skipped") found.status = "skipped";
    else if (type === "research.worker_failed") found.status = "failed";
  }

  private source(one: Record<string, unknown>): void {
    const url = text(one.url) || JSON.stringify(one);
    this.found.set(url, { title: text(one.title, url), url, kind: text(one.kind) });
  }

  private named(name: string, iteration: number): Worker | undefined {
    return [...this.workers.values()].findLast((one) => one.id === name && one.iteration === iteration);
  }
}

function plannedIn(plan: Record<string, unknown>): string[] {
  return list(plan.steps).flatMap((step) =>
    list(record(step).tasks ?? record(step).workers).map((one) => text(record(one).worker) || text(one)),
  );
}
