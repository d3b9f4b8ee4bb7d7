import { Disclosure } from "./parts";

interface FileDiff {
  name: string;
  lines: string[];
  added: number;
  removed: number;
}

const MOST_LINES = 3000;
/** Lines that only git needs. */
const NOISE = /^(index |new file mode|deleted file mode|similarity index|old mode|new mode)/;

const ESCAPES: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };

/** A path as git writes it after `diff --git`: in quotes with escaped bytes if it is not plain ASCII. */
function pathOf(text: string): string {
  if (!text.startsWith('"')) return text;
  const encoder = new TextEncoder();
  const parts = text.slice(1, -1).match(/\\[0-7]{3}|\\.|[^\\]+/gu) ?? [];
  const bytes = parts.flatMap((part) => {
    if (!part.startsWith("\\")) return [...encoder.encode(part)];
    const escaped = part.slice(1);
    return [escaped.length === 3 ? parseInt(escaped, 8) : (ESCAPES[escaped] ?? escaped.charCodeAt(0))];
  });
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** The files of a unified diff, in its order. */
export function filesOf(diff: string): FileDiff[] {
  const files: FileDiff[] = [];
  for (const line of diff.trimEnd().split("\n").slice(0, MOST_LINES)) {
    const named = /^diff --git (?:"a\/.*"|a\/.*) ("b\/.*"|b\/.*)$/.exec(line);
    if (named) files.push({ name: pathOf(named[1] ?? "").slice(2), lines: [], added: 0, removed: 0 });
    const file = files.at(-1);
    if (!file || named) continue;
    const inHunk = file.lines[0]?.startsWith("@@") ?? false;
    if (!inHunk && (NOISE.test(line) || /^(---|\+\+\+) /.test(line))) continue;
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
        <Disclosure
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
        </Disclosure>
      ))}
    </div>
  );
}
