import { describe, expect, it } from "vitest";
import type { Option } from "../../api/client";
import { flawOf, shapeOf, valuesOf } from "./values";

const option = (json_schema: Record<string, unknown>, more: Partial<Option> = {}): Option => ({
  name: "x",
  help: "",
  required: false,
  default: null,
  json_schema,
  ...more,
});
const rounds = option({ anyOf: [{ type: "integer", minimum: 1, maximum: 5 }, { type: "null" }] });

describe("a field of the start form", () => {
  it("is drawn by the schema of its option", () => {
    expect(shapeOf(rounds)).toEqual({ kind: "whole", choices: [], least: 1, most: 5 });
    expect(shapeOf(option({ enum: ["a", "b", null] }))).toMatchObject({ kind: "choice", choices: ["a", "b"] });
    expect(shapeOf(option({ type: "boolean" })).kind).toBe("yesno");
    expect(shapeOf(option({})).kind).toBe("text");
  });
  it.each([
    ["", ""],
    ["3", ""],
    ["0", "At least 1."],
    ["9", "At most 5."],
    ["2.5", "A whole number, please."],
    ["x", "A whole number, please."],
  ])("takes %j with %j", (value, flaw) => {
    expect(flawOf(rounds, value)).toBe(flaw);
  });
  it("says when something is needed", () =>
    expect(flawOf(option({ type: "string" }, { required: true }), "")).toBe("This is needed."));
  it("sends only what was given, as what the server takes", () => {
    const all = [
      { ...rounds, name: "rounds" },
      option({ type: "boolean" }, { name: "web" }),
      option({ type: "array" }, { name: "list" }),
      option({}, { name: "left" }),
    ];
    expect(valuesOf(all, { rounds: "2", web: "no", list: "a, b" })).toEqual({
      rounds: 2,
      web: false,
      list: ["a", "b"],
    });
  });
});
