// Descriptions of values, and the recorder of calls. Both functions are also put into the project's files as
// text, so they use nothing from outside and have no comments at the end of a line.
"use strict";

/** Return {encode, decode, describe}. */
function values() {
  const MAX_TEXT = 2000;
  const MAX_RESULT = 4000;
  const kind = (value) => Object.prototype.toString.call(value).slice(8, -1);
  const isPlain = (value) => {
    const prototype = Object.getPrototypeOf(value);
    return prototype === null || prototype.constructor?.name === "Object";
  };
  function tagged(value, state, depth) {
    if (depth > 20) throw new Error("nested too deeply");
    if (value === null || typeof value === "boolean" || typeof value === "string") return value;
    if (typeof value === "number" && Number.isFinite(value) && !Object.is(value, -0)) return value;
    if (Array.isArray(value)) return Array.from(value, (part) => tagged(part, state, depth + 1));
    if (typeof value === "object" && kind(value) === "Object" && isPlain(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, tagged(part, state, depth + 1)]));
    }
    state.isPlain = false;
    if (value === undefined) return { $: "undefined" };
    if (typeof value === "number") return { $: "number", value: Object.is(value, -0) ? "-0" : String(value) };
    if (typeof value === "bigint") return { $: "bigint", value: String(value) };
    if (kind(value) === "Date") return { $: "date", value: Number(value) };
    if (kind(value) === "RegExp") return { $: "regexp", value: value.source, flags: value.flags };
    if (kind(value) === "Map") return { $: "map", value: tagged([...value], state, depth + 1) };
    if (kind(value) === "Set") return { $: "set", value: tagged([...value], state, depth + 1) };
    throw new Error("no plain value");
  }
  function encode(value) {
    try {
      const state = { isPlain: true };
      const text = JSON.stringify(tagged(value, state, 0));
      return text.length <= MAX_TEXT ? [state.isPlain ? "value" : "other", text] : null;
    } catch {
      return null;
    }
  }
  function untagged(value) {
    if (Array.isArray(value)) return value.map(untagged);
    if (value === null || typeof value !== "object") return value;
    switch (value.$) {
      case "undefined":
        return undefined;
      case "number":
        return Number(value.value);
      case "bigint":
        return BigInt(value.value);
      case "date":
        return new Date(value.value);
      case "regexp":
        return new RegExp(value.value, value.flags);
      case "map":
        return new Map(untagged(value.value));
      case "set":
        return new Set(untagged(value.value));
      default:
        return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, untagged(part)]));
    }
  }
  const decode = (item) => untagged(JSON.parse(item[1]));
  function shown(value, around) {
    if (value === true) return "True";
    if (value === false) return "False";
    if (typeof value === "string") return JSON.stringify(value);
    if (Object.is(value, -0)) return "-0";
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "function") return `<function ${value.name}>`;
    if (value === null || typeof value !== "object") return String(value);
    if (around.includes(value) || around.length > 20) return "...";
    const inner = [...around, value];
    if (Array.isArray(value)) return `[${Array.from(value, (part) => shown(part, inner)).join(", ")}]`;
    if (kind(value) === "Date") return `<Date ${Number(value)}>`;
    if (kind(value) === "RegExp") return String(value);
    if (kind(value) === "Map" || kind(value) === "Set") return `<${kind(value)} ${shown([...value], inner)}>`;
    const pairs = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}: ${shown(value[key], inner)}`);
    const name = value instanceof Error || isPlain(value) ? "" : value.constructor?.name;
    return `${name || ""}{${pairs.join(", ")}}${value instanceof Error ? value.message : ""}`;
  }
  function describe(value) {
    const text = shown(value, []);
    if (text.length <= MAX_RESULT) return text;
    let hash = 5381;
    for (let index = 0; index < text.length; index += 1) hash = (hash * 33 + text.charCodeAt(index)) % 4294967296;
    return `${text.slice(0, 100)} hash ${text.length} ${hash}`;
  }
  const nameOf = (error) => String(error?.name ?? typeof error);
  return { encode, decode, describe, nameOf };
}

/** Return a function that wraps others: their outermost calls are written as JSON lines. */
function recorder(file, folder, fs, { encode, describe, nameOf }) {
  const MAX_EXAMPLES = 40;
  const MAX_SEEN = 400;
  const place = `${folder}/calls-${process.pid}-${Math.random().toString(36).slice(2)}.jsonl`;
  const counts = new Map();
  const known = new Map();
  const running = new Set();
  function example(name, args) {
    const every = known.get(name) ?? known.set(name, new Set()).get(name);
    const encoded = args.map(encode);
    const text = JSON.stringify(encoded);
    if (every.size >= MAX_EXAMPLES || encoded.includes(null) || every.has(text)) return null;
    every.add(text);
    return encoded;
  }
  function write(name, args, result) {
    if (args === null) return;
    try {
      fs.appendFileSync(place, `${JSON.stringify({ file, name, args, kwargs: {}, result })}\n`);
    } catch {
      counts.set(name, MAX_SEEN);
    }
  }
  return function wrap(name, original) {
    const wrapper = function (...args) {
      const count = counts.get(name) ?? 0;
      if (running.has(name) || count >= MAX_SEEN) return original.apply(this, args);
      counts.set(name, count + 1);
      const encoded = example(name, args);
      running.add(name);
      try {
        const result = original.apply(this, args);
        write(name, encoded, typeof result?.then === "function" ? ["later", ""] : ["value", describe(result)]);
        return result;
      } catch (error) {
        write(name, encoded, ["raise", nameOf(error)]);
        throw error;
      } finally {
        running.delete(name);
      }
    };
    for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(original))) {
      if (!["prototype", "arguments", "caller"].includes(key)) Object.defineProperty(wrapper, key, descriptor);
    }
    return wrapper;
  };
}

const line = (made) => made.toString().replace(/\n\s*/g, " ");
const FS =
  "(typeof process.getBuiltinModule === 'function' ? process.getBuiltinModule('node:fs') : require('node:fs'))";

/** Return a statement that defines the recorder of a file, on one line. */
function prelude(file, folder) {
  const args = `${JSON.stringify(file)}, ${JSON.stringify(folder)}, ${FS}, (${line(values)})()`;
  return `const __podium = (${line(recorder)})(${args});`;
}

module.exports = { values, prelude };
