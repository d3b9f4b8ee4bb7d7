import { expect, it } from "vitest";
import { steps } from "../../graph/samples";
import { diffOf, pairsOf } from "./diff";

it("pairs steps by path, and knows which came to the same", () => {
  const left = steps(["a", { result_hash: "1" }], ["b", { result_hash: "2" }], ["c", { status: "failed" }]);
  const right = steps(["a", { result_hash: "1" }], ["b", { result_hash: "3" }], ["d"]);
  expect(pairsOf(left, right).map(({ path, same }) => [path, same])).toEqual([
    ["a", true],
    ["b", false],
    ["c", false],
    ["d", false],
  ]);
});

it("puts common lines beside each other", () => {
  expect(diffOf("a\nb\nc", "a\nc\nd")).toEqual([
    { left: "a", right: "a" },
    { left: "b", right: null },
    { left: "c", right: "c" },
    { left: null, right: "d" },
  ]);
});
