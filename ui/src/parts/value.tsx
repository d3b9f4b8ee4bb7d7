import { oneLine } from "./words";

const DEEPEST = 6;
const MOST_ITEMS = 200;

/** The result of a step, laid out for reading: names beside values, lists as lists, text as text. */
export function Value({ value, depth = 0 }: { value: unknown; depth?: number }) {
  if (value === null || value === undefined || value === "") return <span className="quiet">none</span>;
  if (typeof value === "string") return <p className="prose">{value}</p>;
  if (typeof value !== "object") return <span className="num">{String(value)}</span>;
  if (depth >= DEEPEST) return <pre>{oneLine(JSON.stringify(value), 400)}</pre>;
  return Array.isArray(value) ? <Items all={value} depth={depth} /> : <Named all={value} depth={depth} />;
}

function Items({ all, depth }: { all: unknown[]; depth: number }) {
  if (all.length === 0) return <span className="quiet">none</span>;
  return (
    <ul className="value-list">
      {all.slice(0, MOST_ITEMS).map((item, index) => (
        <li key={index}>
          <Value value={item} depth={depth + 1} />
        </li>
      ))}
      {all.length > MOST_ITEMS && <li className="quiet">…and {all.length - MOST_ITEMS} more</li>}
    </ul>
  );
}

function Named({ all, depth }: { all: object; depth: number }) {
  const entries = Object.entries(all);
  if (entries.length === 0) return <span className="quiet">none</span>;
  return (
    <dl className="value-names">
      {entries.slice(0, MOST_ITEMS).map(([name, value]) => (
        <div key={name}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>
            <Value value={value} depth={depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
