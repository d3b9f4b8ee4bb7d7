import { describe, expect, it } from "vitest";
import { RunFold } from "./run";
import { created, log, spent } from "./samples";
import { isError, tell } from "./telling";

function folded(...entries: Parameters<typeof log>): RunFold {
  const run = new RunFold();
  run.apply(log(...entries));
  return run;
}

describe("a run is a fold of its log", () => {
  it("tells what it was asked, with which ceilings and which model", () => {
    const run = folded(created("tree", { budget: { usd: 1 }, config: { rehearsal: true } }));
    expect([run.workflow, run.request, run.budget.usd, run.budget.calls, run.rehearsal, run.status]).toEqual([
      "tree",
      "Do it",
      1,
      null,
      true,
      "queued",
    ]);
  });

  it("counts every charge once, also when two streams overlap", () => {
    const events = log(
      created(),
      ["", "run.started"],
      ["a", "step.started", { kind: "ask" }],
      ["a", "model.attempted", spent(0.25)],
    );
    const run = new RunFold();
    run.apply(events.slice(0, 3));
    run.apply(events.slice(1));
    expect(run.usage).toMatchObject({ usd: 0.25, calls: 1, input: 10, output: 5 });
    expect(run.steps.byPath.get("a")?.charge.usd).toBe(0.25);
    expect(run.events).toHaveLength(4);
  });

  it("counts calls of a process that died as calls of unknown outcome", () => {
    const run = folded(
      created(),
      ["", "run.started"],
      ["a", "step.started", { kind: "ask" }],
      ["a", "budget.reserved", { reserved: { usd: 0.5, calls: 1 } }],
    );
    expect(run.held).toMatchObject({ usd: 0.5, calls: 1 });
    expect(run.spent("running")).toMatchObject({ usd: 0, calls: 0, unknown: 0 });
    expect(run.spent("paused")).toMatchObject({ usd: 0.5, calls: 1, unknown: 1 });
    run.apply(
      log(
        created(),
        ["", "run.started"],
        ["a", "step.started", {}],
        ["a", "budget.reserved", {}],
        ["", "run.resumed", { after: "crash" }],
        ["a", "budget.settled", { charge: { usd: 0.5, calls: 1, unknown_calls: 1 }, lost: true }],
      ),
    );
    expect(run.held.calls).toBe(0);
    expect(run.spent("running")).toMatchObject({ usd: 0.5, calls: 1, unknown: 1 });
  });

  it("tells a pause once, and not as trouble", () => {
    const told = log(
      ["", "run.paused", { reason: "paused by web" }],
      ["", "run.paused", { reason: "the disk is full" }],
    );
    expect(told.map((event) => tell(event).line)).toEqual(["Paused by web", "Paused: the disk is full"]);
    expect(told.some(isError)).toBe(false);
  });

  it("counts steps as the report does, without looks at the clock", () => {
    const run = folded(created(), ["a", "step.started", { kind: "ask" }], ["now", "step.started", { kind: "clock" }]);
    expect([run.steps.counted, run.steps.byPath.size]).toEqual([1, 2]);
  });

  it("shows what a fork inherited, and charges it to nobody", () => {
    const run = folded(
      created(),
      ["", "run.forked", { source: "old", at: "b", edit: "reply", steps: 1 }],
      ["a", "step.started", { inherited: true }],
      ["a", "model.attempted", { ...spent(5), inherited: true }],
      ["a", "step.completed", { result: "x", inherited: true }],
    );
    expect(run.usage.usd).toBe(0);
    expect(run.steps.byPath.get("a")).toMatchObject({ inherited: true, status: "completed", result: "x" });
    expect(run.forked).toEqual({ source: "old", at: "b", edit: "reply", steps: 1 });
  });

  it("waits for a person only when nothing else is under way", () => {
    const run = new RunFold();
    const events = log(
      created(),
      ["", "run.started"],
      ["a", "step.started"],
      ["question[plan]", "run.waiting", { question: "Go on?", choices: ["approve"] }],
      ["a", "step.completed", { result: 1 }],
      ["question[plan]", "run.answered", { answer: "approve" }],
    );
    run.apply(events.slice(0, 4));
    expect(run.status).toBe("running");
    run.apply(events.slice(4, 5));
    expect([run.status, run.questions.get("question[plan]")?.choices]).toEqual(["waiting", ["approve"]]);
    run.apply(events.slice(5));
    expect([run.status, run.questions.size]).toEqual(["running", 0]);
  });

  it("knows that a new driver takes up what the last one left", () => {
    const run = folded(
      created("own", { budget: { usd: 1 } }),
      ["", "run.started"],
      ["a", "step.started"],
      ["", "run.resumed", { after: "crash", budget: { usd: 3 }, config: { model: "other" } }],
    );
    expect(run.steps.byPath.get("a")?.status).toBe("interrupted");
    expect([run.steps.running.size, run.resumes, run.budget.usd, run.config.model]).toEqual([0, 1, 3, "other"]);
  });

  it.each([
    ["run.completed", "completed"],
    ["run.partial", "partial"],
    ["run.failed", "failed"],
    ["run.cancelled", "cancelled"],
    ["run.paused", "paused"],
  ])("ends with %s as %s", (type, status) => {
    expect(folded(created(), ["", "run.started"], ["", type, {}]).status).toBe(status);
  });

  it("names the event whose blob holds what was too long for the log", () => {
    const run = folded(
      created(),
      ["a", "step.started"],
      ["a", "model.asked", { blob: "h" }],
      ["a", "step.completed", { blob: "h" }],
      ["", "run.completed", { blob: "h" }],
    );
    expect(run.steps.byPath.get("a")).toMatchObject({ promptBlob: 3, resultBlob: 4, result: undefined });
    expect(run.outputBlob).toBe(5);
    expect(run.delivered).toBe(true);
    expect(folded(created(), ["", "run.failed", {}]).delivered).toBe(false);
  });

  it("keeps artifacts and warnings, and reads events of a type that it does not know", () => {
    const run = folded(
      created(),
      ["artifact[x]", "artifact.created", { id: "1", name: "x.md", media_type: "text/markdown", bytes: 3 }],
      ["", "run.warned", { message: "careful" }],
      ["", "run.warned", { message: "worse", first: true }],
      ["", "moon.landed", { deep: [1] }],
    );
    expect([...run.artifacts.values()].map((one) => one.name)).toEqual(["x.md"]);
    expect([run.warnings, run.events.length]).toEqual([["worse", "careful"], 5]);
  });

  it("does not fail on data of the wrong shape", () => {
    const run = folded(
      ["", "run.created", { workflow: 7, request: { a: 1 }, budget: "no", config: null }],
      ["a", "step.started", { about: "x", kind: 3 }],
      ["", "run.waiting", { choices: "no" }],
    );
    expect(run.request).toBe('{"a":1}');
  });

  it("has nothing under way once it has stopped", () => {
    const run = folded(created(), ["", "run.started"], ["a", "step.started", { kind: "ask" }], ["", "run.partial", {}]);
    expect([run.steps.running.size, run.steps.byPath.get("a")?.status]).toEqual([0, "interrupted"]);
  });

  it("sums what each agent used, and tells what a person wants to read", () => {
    const about = { about: { agent: "Ann" } };
    const run = folded(created(), ["a", "step.started", about], ["a", "model.attempted", spent(2)]);
    expect(run.agents.get("Ann")).toMatchObject({ usd: 2, calls: 1 });
    expect(run.important.map((event) => event.type)).toEqual(["run.created"]);
  });
});
