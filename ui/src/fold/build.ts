import { list, maybe, number, record, text, texts, type LogEvent } from "./events";

export interface BuildStep {
  id: string;
  /** Where its steps lie in the log. */
  path: string;
  title: string;
  depth: number;
  number: number;
  status: string;
  attempts: number;
  reason: string;
  tests: { passed: number; failed: number } | null;
  files: string[];
  score: number | null;
}

/** Tests that ran, of one step or, without one, of the whole. */
export interface TestRun {
  step: string;
  path: string;
  command: string;
  passed: number;
  failed: number;
  ok: boolean;
  failures: { name: string; message: string; output: string }[];
}

/** The plan as a checklist, and where the loop of coder, tester and supervisor stands. */
export class BuildFold {
  readonly kind = "build";
  readonly steps = new Map<string, BuildStep>();
  readonly phases: { status: string; iteration: number; reason: string }[] = [];
  readonly commits: { sha: string; message: string; step: string }[] = [];
  readonly tests: TestRun[] = [];
  branch = "";
  level = "";
  current = "";
  diff = "";
  patch = "";

  apply({ type, data, path }: LogEvent): void {
    if (!type.startsWith("build.")) return;
    const step = this.steps.get(text(data.step_id));
    switch (type) {
      case "build.phase":
        this.phases.push({
          status: text(data.status),
          iteration: number(data.iteration),
          reason: text(data.reason),
        });
        break;
      case "build.opened":
        this.branch = text(data.branch);
        break;
      case "build.plan_created":
        this.plan(record(data.plan), text(data.step_id));
        break;
      case "build.step_status":
        this.change(data, path);
        break;
      case "build.coded":
        if (step) step.files = changedIn(record(data.output));
        break;
      case "build.tests_run":
        this.test(text(data.step_id), path, record(data.result));
        break;
      case "build.verified":
        if (step) step.score = maybe(record(data.result).score);
        this.level = text(data.level, this.level);
        break;
      case "build.escalated":
        this.level = text(data.level);
        break;
      case "build.committed":
        this.commits.push({ sha: text(data.sha), message: text(data.message), step: text(data.step_id) });
        break;
      case "build.finished":
        this.diff = text(data.diff);
        this.patch = text(data.patch);
        break;
    }
  }

  private test(id: string, path: string, result: Record<string, unknown>): void {
    const run: TestRun = {
      step: id,
      path,
      command: text(result.command),
      passed: number(result.passed),
      failed: number(result.failed) + number(result.errors),
      ok: result.ok === true,
      failures: list(result.failures)
        .map(record)
        .map((one) => ({
          name: text(one.name),
          message: text(one.message),
          output: text(one.output),
        })),
    };
    const step = this.steps.get(id);
    if (step) step.tests = { passed: run.passed, failed: run.failed };
    const last = this.tests.at(-1);
    if (last && last.path === path && JSON.stringify(last) === JSON.stringify(run)) return; // told again after its review
    this.tests.push(run);
  }

  /** In the order of the plan: a sub-plan follows the step that it is for. */
  checklist(): BuildStep[] {
    return [...this.steps.values()];
  }

  private plan(plan: Record<string, unknown>, parent: string): void {
    const made = list(plan.steps).map((one) => this.planned(record(one), parent));
    const before = [...this.steps.values()].filter((one) => !made.some((step) => step.id === one.id));
    const done = parent ? before : before.filter((one) => one.status !== "pending");
    const at = parent ? done.findIndex((one) => one.id === parent) + 1 : done.length;
    this.steps.clear();
    [...done.slice(0, at), ...made, ...done.slice(at)].forEach((one) => this.steps.set(one.id, one));
  }

  private planned(one: Record<string, unknown>, parent: string): BuildStep {
    const id = text(one.id) || text(one.step_id);
    return (
      this.steps.get(id) ?? {
        id,
        path: "",
        title: text(one.title) || text(one.description) || id,
        depth: parent ? (this.steps.get(parent)?.depth ?? 0) + 1 : 0,
        number: number(one.number),
        status: "pending",
        attempts: 0,
        reason: "",
        tests: null,
        files: [],
        score: null,
      }
    );
  }

  private change(data: LogEvent["data"], path: string): void {
    const id = text(data.step_id);
    const step = this.steps.get(id) ?? this.planned({ id }, "");
    this.steps.set(id, step);
    step.path = path;
    step.status = text(data.status);
    step.attempts = number(data.attempts);
    step.depth = number(data.depth, step.depth);
    step.reason = text(data.fail_reason);
    if (step.status === "in_progress") this.current = id;
    else if (this.current === id) this.current = "";
  }
}

function changedIn(output: Record<string, unknown>): string[] {
  const files = list(output.files ?? output.changes);
  const named = files.map((one) => (typeof one === "string" ? one : text(record(one).path)));
  return named.length > 0 ? named : texts(output.files_changed);
}
