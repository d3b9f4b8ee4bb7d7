import type { Option } from "../../api/client";

/** Values of the form fields, by option. Empty: the default of the workflow. */
export type Given = Readonly<Record<string, string>>;

export interface Shape {
  kind: "choice" | "yesno" | "whole" | "number" | "text" | "json";
  choices: string[];
  least: number | null;
  most: number | null;
}

/** The part of JSON Schema that options use. */
interface Schema {
  type?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  anyOf?: Schema[];
}

/** Return the kind of field of an option. "or nothing": every field can be left empty. */
export function shapeOf(option: Option): Shape {
  const whole: Schema = option.json_schema;
  const variants = whole.anyOf?.filter((variant) => variant.type !== "null") ?? [];
  const schema = variants.length === 1 ? (variants[0] ?? {}) : whole;
  const limits = { least: schema.minimum ?? null, most: schema.maximum ?? null };
  const choices = (schema.enum ?? []).filter((choice) => choice !== null).map(String);
  if (choices.length > 0) return { kind: "choice", choices, ...limits };
  const kinds: Record<string, Shape["kind"]> = {
    boolean: "yesno",
    integer: "whole",
    number: "number",
    string: "text",
    array: "json",
    object: "json",
  };
  return { kind: kinds[schema.type ?? ""] ?? "text", choices: [], ...limits };
}

/** Why a value cannot be, in a sentence; empty: it can. */
export function flawOf(option: Option, value: string): string {
  if (value === "") return option.required ? "This is needed." : "";
  const shape = shapeOf(option);
  if (shape.kind === "whole" || shape.kind === "number") {
    const number = Number(value);
    if (!Number.isFinite(number) || (shape.kind === "whole" && !Number.isInteger(number)))
      return shape.kind === "whole" ? "A whole number, please." : "A number, please.";
    if (shape.least !== null && number < shape.least) return `At least ${shape.least}.`;
    if (shape.most !== null && number > shape.most) return `At most ${shape.most}.`;
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
            .map((item) => item.trim())
            .filter(Boolean);
    else values[option.name] = value;
  }
  return values;
}
