import { expect, it } from "vitest";
import { filesOf } from "./diff";

const HUNK = ["index 1..2 100644", "--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@", "--- a comment", "+new", " same"];

it("counts the lines of each file, and leaves out what only git needs", () => {
  const files = filesOf(["diff --git a/x b/x", ...HUNK, "diff --git a/y b/y", "deleted file mode 100644"].join("\n"));
  expect(files.map(({ name, added, removed }) => [name, added, removed])).toEqual([
    ["x", 1, 1],
    ["y", 0, 0],
  ]);
  expect(files[0]?.lines).toEqual(["@@ -1,2 +1,2 @@", "--- a comment", "+new", " same"]);
});

it("reads paths that git puts in quotes", () => {
  const names = (line: string) => filesOf(line).map(({ name }) => name);
  expect(names(String.raw`diff --git "a/na\303\257ve \"x\".txt" "b/na\303\257ve \"x\".txt"`)).toEqual([
    'naïve "x".txt',
  ]);
  expect(names(String.raw`diff --git a/old.txt "b/tab\there\\.txt"`)).toEqual(["tab\there\\.txt"]);
  expect(names('diff --git "a/\\303\\244" b/a b/c')).toEqual(["a b/c"]);
  expect(names("diff --git a/a b.txt b/a b.txt")).toEqual(["a b.txt"]);
});
