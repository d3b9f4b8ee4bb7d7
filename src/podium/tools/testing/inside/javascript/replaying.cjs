// Program: calls functions on recorded inputs, on fresh ones, and with changed constants.
//
// Usage: node --expose-internals replaying.cjs JOB RESULTS. Each function has a process of its own, which
// writes what it observed; a function that hangs or ends the process has no observations, or incomplete ones.
"use strict";

const childProcess = require("node:child_process");
const fs = require("node:fs");
const { register } = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const vm = require("node:vm");
const { values } = require("./recorder.cjs");
const { constants, functions, parse, wrapped } = require("./source.cjs");

const MS_A_CALL = 500;
const LEAST_MS = 200;
const MAX_CONSTANTS = 250;
const MAX_TIMEOUTS = 6;
const TIME = ["time", ""];
const { decode, describe, nameOf } = values();
const CALL = new vm.Script("__podium_call()");
const RESOLVE = `export async function resolve(name, context, next) {
  for (const ending of ["", ".js", ".mjs", ".cjs", "/index.js"]) {
    try { return await next(name + ending, context); } catch (error) { if (!/^[./]/.test(name)) throw error; }
  }
  return next(name, context);
}`;

/** Observations of one function. */
class Replay {
  constructor(job, place, seconds) {
    this.job = job;
    this.place = place;
    this.seconds = seconds;
    this.seen = {};
    this.limits = new Map();
    this.copies = 0;
  }

  get isOver() {
    const { user, system } = process.cpuUsage(); // does not depend on how busy the machine is
    return user + system > this.seconds * 1e6;
  }

  /** Make all observations, and write them after each part. */
  async run() {
    const { job, seen } = this;
    const text = fs.readFileSync(job.file, "utf8");
    this.parsed = parse(text);
    this.target = functions(this.parsed.tree).find(({ name }) => name === job.name);
    const made = await this.load(this.parsed, this.target);
    const first = job.examples.length;
    seen.replayed = await this.outcomes(made, job.examples);
    seen.again = await this.outcomes(made, job.examples);
    seen.fresh = await this.outcomes(made, job.fresh, first);
    seen.fresh_again = await this.outcomes(made, job.fresh, first);
    this.save();
    await this.compareOld(first);
    await this.changeConstants();
    seen.finished = !this.isOver;
    this.save();
  }

  save() {
    fs.writeFileSync(this.place, JSON.stringify(this.seen));
  }

  /** Import a copy of the file beside it, with these edits, and return the function. */
  async load(parsed, target, edits = []) {
    let captured = null;
    globalThis.__podium_capture = (name, original) => {
      captured = original;
      return original;
    };
    const text = wrapped(parsed, [target], "const __podium = globalThis.__podium_capture;", edits);
    this.copies += 1;
    const ending = parsed.isModule ? "mjs" : "cjs";
    const copy = path.join(path.dirname(this.job.file), `podium-${process.pid}-${this.copies}.${ending}`);
    fs.writeFileSync(copy, text);
    try {
      await import(pathToFileURL(copy).href);
    } finally {
      fs.unlinkSync(copy);
    }
    if (captured === null) throw new Error("the function was not defined");
    return captured;
  }

  async outcomes(made, inputs, first = 0) {
    const every = [];
    let timeouts = 0;
    for (const [index, input] of inputs.entries()) {
      const outcome = timeouts > MAX_TIMEOUTS ? TIME : await this.outcome(made, input, first + index);
      timeouts += outcome[0] === "time";
      every.push(outcome);
    }
    return every;
  }

  /** Call on one input. Later calls with it may take a few times as long as the first. */
  async outcome(made, input, number) {
    if (this.isOver) return TIME;
    const args = input.args.map(decode);
    const began = Date.now();
    const outcome = await called(made, args, this.limits.get(number) ?? MS_A_CALL);
    if (!this.limits.has(number)) {
      this.limits.set(number, Math.min(MS_A_CALL, Math.max(LEAST_MS, (Date.now() - began) * 10)));
    }
    return outcome;
  }

  /** Run the function as it was before the change on the same inputs. */
  async compareOld(first) {
    const parsed = this.job.old === null ? null : parse(this.job.old);
    const target = parsed && functions(parsed.tree).find(({ name }) => name === this.job.name);
    if (!target) return;
    try {
      const old = await this.load(parsed, target);
      this.seen.old = await this.outcomes(old, this.job.examples);
      this.seen.old_fresh = await this.outcomes(old, this.job.fresh, first);
    } catch {
      return; // the old file does not run any more
    }
    this.save();
  }

  /** Change one constant at a time, in two ways, and note which inputs then have another outcome. */
  async changeConstants() {
    const known = constants(this.parsed, this.target, new Set(this.job.lines));
    const step = Math.ceil(known.length / MAX_CONSTANTS) || 1;
    this.seen.constants = [];
    for (let index = 0; index < known.length && !this.isOver; index += step) {
      const { start, end, line, value, variants } = known[index];
      const effects = [];
      for (const text of variants) effects.push(await this.effect({ start, end, text }));
      if (effects.includes(null)) continue;
      const union = (place) => [...new Set(effects.flatMap((effect) => effect[place]))].sort((a, b) => a - b);
      this.seen.constants.push({
        line,
        value: JSON.stringify(value).slice(0, 200),
        examples: union(0),
        fresh: union(1),
        each: effects.every(([examples, fresh]) => examples.length || fresh.length),
      });
    }
  }

  /** Return the examples and fresh inputs that an edit affects, at most two of each; null if the file does not
   * run with it. */
  async effect(edit) {
    let made;
    try {
      made = await this.load(this.parsed, this.target, [edit]);
    } catch {
      return null;
    }
    const examples = await this.affected(made, this.job.examples, this.seen.replayed, 0);
    if (examples.length > 1) return [examples, []];
    return [examples, await this.affected(made, this.job.fresh, this.seen.fresh, this.job.examples.length)];
  }

  async affected(made, inputs, outcomes, first) {
    const found = [];
    let timeouts = 0;
    for (const [index, input] of inputs.entries()) {
      if (outcomes[index][0] === "time") continue;
      const other = await this.outcome(made, input, first + index);
      timeouts += other[0] === "time";
      if (other[0] !== outcomes[index][0] || other[1] !== outcomes[index][1]) found.push(index);
      if (found.length > 1 || timeouts > MAX_TIMEOUTS) break;
    }
    return found;
  }
}

/** Call a function within a time limit and describe its outcome. */
async function called(made, args, ms) {
  globalThis.__podium_call = () => made(...args);
  try {
    const result = CALL.runInThisContext({ timeout: ms });
    if (typeof result?.then !== "function") return ["value", describe(result)];
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, ms, TIME);
    });
    const value = Promise.resolve(result).then((settled) => ["value", describe(settled)]);
    return await Promise.race([value, late]).finally(() => clearTimeout(timer));
  } catch (error) {
    return error?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT" ? TIME : ["raise", nameOf(error)];
  }
}

function observeAll(jobPath, results) {
  const job = JSON.parse(fs.readFileSync(jobPath, "utf8"));
  const end = Date.now() + job.seconds * 1000;
  for (const index of job.functions.keys()) {
    const left = Math.ceil(Math.min(job.seconds_each * 4000 + 2000, end - Date.now()));
    if (left <= 0) return;
    const args = ["--expose-internals", __filename, jobPath, results, String(index)];
    childProcess.spawnSync(process.execPath, args, { stdio: "ignore", timeout: left, killSignal: "SIGKILL" });
  }
}

async function observe(jobPath, results, index) {
  const job = JSON.parse(fs.readFileSync(jobPath, "utf8"));
  const exit = process.exit.bind(process);
  process.exit = () => {
    throw new Error("exit");
  };
  process.on("uncaughtException", () => {});
  process.on("unhandledRejection", () => {});
  register(`data:text/javascript,${encodeURIComponent(RESOLVE)}`);
  try {
    await new Replay(job.functions[index], `${results}/${index}.json`, job.seconds_each).run();
  } catch (error) {
    fs.writeFileSync(`${results}/${index}.json.error`, String(error?.stack));
  }
  exit(0);
}

const [, , jobPath, results, index] = process.argv;
if (index === undefined) observeAll(jobPath, results);
else observe(jobPath, results, Number(index));
