import type { Option } from "../../api/client";
import { list, maybe, record, text } from "../../fold/events";

/** What was written into the fields of a form, by option; empty: as the workflow has it. */
export type Given = Readonly<Record<string, string>>;

export interface Shape {
  kind: "choice" | "yesno" | "whole" | "number" | "text" | "json";
  choices: string[];
  least: number | null;
  most: number | null;
}

/** What kind of field an option needs: "or nothing" is how every field can be left empty. */
export function shapeOf(option: Option): Shape {
  const schema = record(option.json_schema);
  const among = list(schema.anyOf)
    .map(record)
    .filter((one) => one.type !== "null");
  const own = among.length === 1 ? (among[0] ?? {}) : schema;
  const limits = { least: maybe(own.minimum), most: maybe(own.maximum) };
  const choices = list(own.enum)
    .filter((one) => one !== null)
    .map((one) => text(one));
  if (choices.length > 0) return { kind: "choice", choices, ...limits };
  const kinds: Record<string, Shape["kind"]> = {
    boolean: "yesno",
    integer: "whole",
    number: "number",
    string: "text",
    array: "json",
    object: "json",
  };
  return { kind: kinds[text(own.type)] ?? "text", choices: [], ...limits };
}

/** Why a value cannot be, in a sentence; empty: it can. */
export function flawOf(option: Option, value: string): string {
  if (value === "") return option.required ? "This is needed." : "";
  const shape = shapeOf(option);
  if (shape.kind === "whole" || shape.kind === "number") {
    const found = Number(value);
    if (!Number.isFinite(found) || (shape.kind === "whole" && !Number.isInteger(found)))
      return shape.kind === "whole" ? "A whole number, please." : "A number, please.";
    if (shape.least !== null && found < shape.least) return `At least ${shape.least}.`;
    if (shape.most !== null && found > shape.most) return `At most ${shape.most}.`;
  }
  if (shape.kind === "json" && !value.trim().match(/^[[{]/)) return "";
  if (shape.kind === "json") {
    try {
      JSON.parse(value);
    } catch {
      return "This is not JSON.";
    }
  }
  return "";
}

/** The options that were given, as the server takes them. */
export function valuesOf(options: readonly Option[], given: Given): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const option of options) {
    const value = given[option.name] ?? "";
    if (value === "") continue;
    const { kind } = shapeOf(option);
    if (kind === "whole" || kind === "number") values[option.name] = Number(value);
    else if (kind === "yesno") values[option.name] = value === "yes";
    else if (kind === "json")
      values[option.name] = /^\s*[[{]/.test(value)
        ? (JSON.parse(value) as unknown)
        : value
            .split(",")
            .map((one) => one.trim())
            .filter(Boolean);
    else values[option.name] = value;
  }
  return values;
}
