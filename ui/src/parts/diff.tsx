import { Fold } from "./parts";

interface FileDiff {
  name: string;
  lines: string[];
  added: number;
  removed: number;
}

const MOST_LINES = 3000;
/** Lines that only git needs. */
const NOISE = /^(index |new file mode|deleted file mode|similarity index|old mode|new mode)/;

/** The files of a unified diff, in its order. */
export function filesOf(diff: string): FileDiff[] {
  const files: FileDiff[] = [];
  for (const line of diff.split("\n").slice(0, MOST_LINES)) {
    const named = /^diff --git a\/(.*) b\/(.*)$/.exec(line);
    if (named) files.push({ name: named[2] ?? "", lines: [], added: 0, removed: 0 });
    const file = files.at(-1);
    if (!file || named || NOISE.test(line) || /^(---|\+\+\+) /.test(line)) continue;
    file.lines.push(line);
    file.added += line.startsWith("+") ? 1 : 0;
    file.removed += line.startsWith("-") ? 1 : 0;
  }
  return files;
}

const KINDS: Record<string, string> = { "+": "new", "-": "gone", "@": "hunk" };

/** A diff by files; what is not one is shown as it is. */
export function Diff({ text }: { text: string }) {
  const files = filesOf(text);
  if (files.length === 0) return <pre className="document">{text}</pre>;
  return (
    <div className="stack tight">
      {files.map((file) => (
        <Fold
          key={file.name}
          open={files.length < 4}
          title={
            <>
              <span className="mono">{file.name}</span> <span className="num ok">+{file.added}</span>{" "}
              <span className="num bad">−{file.removed}</span>
            </>
          }
        >
          <pre className="document patch" tabIndex={0} aria-label={`Changes of ${file.name}`} role="group">
            {file.lines.map((line, index) => (
              <span key={index} className={KINDS[line.charAt(0)] ?? ""}>
                {line || " "}
                {"\n"}
              </span>
            ))}
          </pre>
        </Fold>
      ))}
    </div>
  );
}
