import { describe, expect, it } from "vitest";
import { modelName, money, points, span } from "./words";

describe("figures are those of the terminal and the report", () => {
  it.each([
    [95.04, "95.04"],
    [94.2, "94.2"],
    [85, "85"],
    [0.8869, "0.89"],
  ])("a score of %d is %s", (value, text) => expect(points(value)).toBe(text));

  it("money below ten cents keeps four digits", () => {
    expect([0, 0.0456, 0.1, 1234.5].map(money)).toEqual(["$0.00", "$0.0456", "$0.10", "$1,234.50"]);
  });

  it("a round number of hours has no minutes", () => {
    expect([7200, 7260].map(span)).toEqual(["2 h", "2 h 01 min"]);
  });

  it("of a model in a file the folder is left out", () => {
    expect(modelName("python:/srv/models/slow.py:answer")).toBe("python:slow.py:answer");
    expect(modelName("openrouter:meta/llama-4")).toBe("openrouter:meta/llama-4");
  });
});
