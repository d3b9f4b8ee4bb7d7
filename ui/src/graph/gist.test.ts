import { expect, it } from "vitest";
import { gistOf } from "./gist";

it("a worker's result is told as at the terminal", () => {
  expect(gistOf({ word_count: 1466, cites: ["s1", "s2"], draft: "…" })).toEqual(["1,466 words", "cites 2 sources"]);
  expect(gistOf({ claims: 67, verified: 56 })).toEqual(["56 of 67 claims verified"]);
  expect(gistOf({ quality: 1 })).toEqual(["accuracy 100 %"]);
  expect(gistOf({ points: 1, sections: 4 })).toEqual(["1 point", "4 sections"]);
});
