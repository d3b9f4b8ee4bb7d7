import { useState } from "react";

export interface TableRow {
  path: string;
  cells: string[];
}

const MOST = 500;

/** The same as the picture, for who reads rather than looks: every picture has one. Its rows are made when it is opened. */
export function AsTable({
  columns,
  rows,
  pick,
}: {
  columns: string[];
  rows: () => TableRow[];
  pick: (path: string) => void;
}) {
  const [open, setOpen] = useState(false);
  return (
    <details className="astable" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {open && <Rows columns={columns} rows={rows()} pick={pick} />}
    </details>
  );
}

function Rows({ columns, rows, pick }: { columns: string[]; rows: TableRow[]; pick: (path: string) => void }) {
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="As a table">
      <table>
        <thead>
          <tr>
            {columns.map((one) => (
              <th scope="col" key={one}>
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST).map((row, index) => (
            <tr key={`${row.path}-${index}`}>
              {row.cells.map((cell, at) => (
                <td key={at}>
                  {at === 1 ? (
                    <button className="link" onClick={() => pick(row.path)}>
                      {cell}
                    </button>
                  ) : (
                    cell
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MOST && (
        <p className="quiet small">
          The first {MOST} of {rows.length}; the transcript has all.
        </p>
      )}
    </div>
  );
}
