import type { Option } from "../../api/client";
import { readable, titled } from "../../parts/words";
import { shapeOf } from "./values";

/** One option of a workflow as a field. */
export function OptionField({
  option,
  value,
  flaw,
  change,
}: {
  option: Option;
  value: string;
  flaw: string;
  change: (value: string) => void;
}) {
  const shape = shapeOf(option);
  const id = `option-${option.name}`;
  const usual =
    option.default === null || option.default === ""
      ? ""
      : typeof option.default === "boolean"
        ? option.default
          ? "yes"
          : "no"
        : readable(option.default);
  const common = { id, value, "aria-invalid": flaw !== "", "aria-describedby": `${id}-help` };
  const choices = shape.kind === "yesno" ? ["yes", "no"] : shape.choices;
  return (
    <div className="field">
      <label htmlFor={id}>
        {titled(option.name)}
        {option.required && " (needed)"}
      </label>
      {choices.length > 0 ? (
        <select {...common} onChange={(event) => change(event.target.value)}>
          <option value="">{usual ? `usual: ${usual}` : "as usual"}</option>
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          {...common}
          inputMode={shape.kind === "whole" || shape.kind === "number" ? "decimal" : "text"}
          placeholder={usual ? `usual: ${usual}` : ""}
          onChange={(event) => change(event.target.value)}
        />
      )}
      <span id={`${id}-help`} className={flaw ? "bad small" : "quiet small"}>
        {flaw || option.help}
      </span>
    </div>
  );
}
