import { describe, expect, it } from "vitest";
import { mergePatch, own } from "./patch";

describe("a merge patch", () => {
  it.each([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{ e: 0 }, { a: 1 }, { e: 0, a: 1 }],
    [["a", "b"], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: "foo" }, "bar", "bar"],
  ])("%j with %j is %j, as RFC 7396 says", (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it("changes nothing in place and keeps the parts that it does not name", () => {
    const before = { steps: { a: { status: "running" }, b: { status: "completed" } }, agents: {} };
    const copy = structuredClone(before);
    const after = mergePatch(before, { steps: { a: { status: "completed" } } }) as typeof before;
    expect(before).toEqual(copy);
    expect(after.steps.a.status).toBe("completed");
    expect(after.steps.b).toBe(before.steps.b);
    expect(after.agents).toBe(before.agents);
  });

  it("takes every key as a key", () => {
    const patch = JSON.parse('{"__proto__": {"hostile": 1}, "constructor": {"x": 2}}') as object;
    const merged = mergePatch({}, patch) as Record<string, unknown>;
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(own(merged, "__proto__")).toEqual({ hostile: 1 });
    expect(own(merged, "constructor")).toEqual({ x: 2 });
    expect(own({}, "constructor")).toBeUndefined();
  });
});
