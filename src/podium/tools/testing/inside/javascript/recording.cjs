// Program: puts a recorder into changed functions of the project's files, in place.
//
// Usage: node --expose-internals recording.cjs JOB RESULTS. It writes the functions and the constants of the
// changed lines to RESULTS/functions.json; the tests then write the calls there.
"use strict";

const fs = require("node:fs");
const { prelude } = require("./recorder.cjs");
const { changedFunctions, constantsOf, parse, walk, wrapped } = require("./source.cjs");

const [, , jobPath, results] = process.argv;
const found = [];
for (const { path, file, before, lines } of JSON.parse(fs.readFileSync(jobPath, "utf8")).files) {
  const parsed = parse(fs.readFileSync(file, "utf8"));
  const targets = parsed ? changedFunctions(parsed, before === null ? null : parse(before)) : [];
  if (!targets.length) continue;
  const changed = new Set(lines);
  const constants = [...walk(parsed.tree)]
    .filter((node) => changed.has(node.loc.start.line))
    .flatMap(constantsOf)
    .map(({ value }) => value);
  const functions = targets.map(({ name, node }) => ({ name, line: node.loc.start.line }));
  found.push({ path, functions, constants: [...new Set(constants)].slice(0, 500) });
  fs.writeFileSync(file, wrapped(parsed, targets, prelude(path, results)));
}
fs.writeFileSync(`${results}/functions.json`, JSON.stringify(found));
