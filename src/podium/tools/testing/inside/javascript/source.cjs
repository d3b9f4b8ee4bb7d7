// Functions and constants of a JavaScript file, found with the parser that Node contains
// (node --expose-internals), and edited copies of its text.
"use strict";

const acorn = require("internal/deps/acorn/acorn/dist/acorn");

const OPTIONS = {
  ecmaVersion: "latest",
  locations: true,
  allowHashBang: true,
  allowReturnOutsideFunction: true,
};
const FUNCTIONS = ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"];

/** Return {tree, isModule, text}; null if it cannot be parsed (TypeScript, JSX). */
function parse(text) {
  for (const sourceType of ["script", "module"]) {
    try {
      return { tree: acorn.parse(text, { ...OPTIONS, sourceType }), isModule: sourceType === "module", text };
    } catch {
      continue;
    }
  }
  return null;
}

function* children(node) {
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child && typeof child.type === "string") yield child;
    }
  }
}

function* walk(node, enter = () => true) {
  yield node;
  for (const child of children(node)) {
    if (enter(child, node)) yield* walk(child, enter);
  }
}

const isFunction = (node) => Boolean(node) && FUNCTIONS.includes(node.type);

/** Return the functions at the top of a file: {name, node, how, owner}. */
function functions(tree) {
  const found = [];
  const add = (name, node, how, owner = null) => {
    if (isFunction(node) && !node.generator && !usesThis(node)) found.push({ name, node, how, owner });
  };
  for (const statement of tree.body) {
    const node = statement.declaration ?? statement;
    if (node.type === "FunctionDeclaration" && node.id) add(node.id.name, node, "declaration");
    else if (statement.type === "ExportDefaultDeclaration" && isFunction(node)) add("default", node, "expression");
    else if (node.type === "VariableDeclaration") {
      for (const { id, init } of node.declarations) {
        if (id.type === "Identifier") addValue(add, id.name, init);
      }
    } else if (node.type === "ExpressionStatement" && node.expression.type === "AssignmentExpression") {
      const { left, right } = node.expression;
      const isMember = left.type === "MemberExpression" && !left.computed;
      if (isMember) addValue(add, left.property.name, right);
    } else if (node.type === "ClassDeclaration" && node.id) {
      for (const part of node.body.body) {
        if (part.type === "MethodDefinition" && part.kind === "method" && part.key.type === "Identifier" && !part.computed) {
          add(`${node.id.name}.${part.key.name}`, part.value, part.static ? "static" : "method", node);
        }
      }
    }
  }
  return found;
}

function addValue(add, name, value) {
  if (isFunction(value)) add(name, value, "expression");
  if (value?.type !== "ObjectExpression") return;
  for (const part of value.properties) {
    if (part.type !== "Property" || part.computed || part.kind !== "init" || part.key.type !== "Identifier") continue;
    if (part.method && part.value.async) continue;
    add(`${name}.${part.key.name}`, part.value, part.method ? "shorthand" : "expression");
  }
}

function usesThis(node) {
  const enter = (child) => !isFunction(child) || child.type === "ArrowFunctionExpression";
  for (const part of walk(node, enter)) {
    if (part.type === "ThisExpression" || part.type === "Super") return true;
  }
  return false;
}

/** Return the names of functions that are new, changed, or use a changed name of the module. */
function changedFunctions(parsed, before) {
  const textOf = (source, node) => source.text.slice(node.start, node.end);
  const known = new Map((before ? functions(before.tree) : []).map(({ name, node }) => [name, textOf(before, node)]));
  const old = new Set((before?.tree.body ?? []).map((node) => textOf(before, node)));
  const names = new Set();
  for (const statement of parsed.tree.body) {
    const node = statement.declaration ?? statement;
    if (node.type !== "VariableDeclaration" || old.has(textOf(parsed, statement))) continue;
    for (const { id } of node.declarations) {
      for (const part of walk(id)) if (part.type === "Identifier") names.add(part.name);
    }
  }
  return functions(parsed.tree).filter(({ name, node }) => {
    if (known.get(name) !== textOf(parsed, node)) return true;
    return [...walk(node)].some((part) => part.type === "Identifier" && names.has(part.name));
  });
}

/** Return the text with these functions passed to `__podium(name, function)`, after a prelude on the line of
 * the first statement. `edits` are other replacements: {start, end, text}. */
function wrapped(parsed, targets, prelude, edits = []) {
  const { tree, text } = parsed;
  const first = tree.body.find((node) => !node.directive);
  if (!first) return text;
  const all = [...edits];
  let assigned = "";
  for (const { name, node, how, owner } of targets) {
    const head = `__podium(${JSON.stringify(name)}, `;
    if (how === "declaration") assigned += `${node.id.name} = ${head}${node.id.name}); `;
    else if (how === "method" || how === "static") {
      const place = `${owner.id.name}${how === "method" ? ".prototype" : ""}.${name.split(".")[1]}`;
      all.push({ start: owner.end, end: owner.end, text: `; ${place} = ${head}${place});` });
    } else {
      const start = how === "shorthand" ? `: ${head}function ` : head;
      all.push({ start: node.start, end: node.start, text: start });
      all.push({ start: node.end, end: node.end, text: ")", closes: true });
    }
  }
  all.push({ start: first.start, end: first.start, text: `${prelude} ${assigned}`, isFirst: true });
  const order = (edit) => (edit.closes ? 0 : edit.isFirst ? 1 : 2);
  all.sort((a, b) => a.start - b.start || order(a) - order(b));
  let result = "";
  let end = 0;
  for (const edit of all) {
    result += text.slice(end, edit.start) + edit.text;
    end = edit.end;
  }
  return result + text.slice(end);
}

/** Return the constants on these lines that a function may use: its own, and those of other statements of the
 * module, without the bodies of other functions. */
function constants(parsed, target, lines) {
  const found = [];
  for (const statement of parsed.tree.body) {
    if (statement.directive || statement.type === "ImportDeclaration" || statement.source) continue;
    const isOther = (node) => isFunction(node) && node !== target.node && !isInside(node, target.node);
    const enter = (child) => !isOther(child) || isInside(target.node, child);
    if (isOther(statement.declaration ?? statement)) continue;
    for (const node of walk(statement, enter)) {
      if (statement.type.includes("Class") && !isInside(node, target.node)) continue;
      if (lines.has(node.loc.start.line)) found.push(...constantsOf(node));
    }
  }
  return found;
}

const isInside = (node, other) => other.start <= node.start && node.end <= other.end;

/** Return {start, end, line, value, variants: [text, text]} of a node, if it holds a constant. */
function constantsOf(node) {
  const made = (part, value, variants) => [
    { start: part.start, end: part.end, line: part.loc.start.line, value, variants },
  ];
  if (node.type === "Literal" && typeof node.value === "string" && node.value && !node.directive) {
    return made(node, node.value, texts(node.value).map((text) => JSON.stringify(text)));
  }
  if (node.type === "Literal" && typeof node.value === "number") {
    const { value } = node;
    return made(node, value, [String(value + 1), String(value + 17 + Math.floor(value / 2))]);
  }
  if (node.type === "Literal" && typeof node.value === "boolean") {
    return made(node, node.value, [String(!node.value), JSON.stringify(`not ${node.value}`)]);
  }
  if (node.type === "TemplateElement" && node.value.cooked) {
    return made(node, node.value.cooked, texts(node.value.raw));
  }
  if (node.type === "ObjectExpression") {
    return node.properties
      .filter((part) => part.type === "Property" && !part.computed && !part.shorthand && !part.method)
      .filter((part) => part.key.type === "Identifier")
      .flatMap(({ key }) => made(key, key.name, texts(key.name).map((text) => JSON.stringify(text))));
  }
  return [];
}

const texts = (value) => [`${value}~`, `~${value.replace(/[`$\\]/g, "")}`];

module.exports = { parse, functions, changedFunctions, wrapped, constants, constantsOf, walk };
