import { api, files } from "../../api/client";
import type { Artifact } from "../../fold/run";
import { useLoaded } from "../../live/load";
import type { LiveRun } from "../../live/run";
import { Icon } from "../../parts/icons";
import { Bones, Card, Empty, ProblemNote } from "../../parts/parts";
import { size } from "../../parts/words";
import { go, usePlace, withQuery } from "../../route";

const REPORT = "report";
const TEXT = /^(text\/(plain|markdown|csv|x-.*)|application\/json)/;
const MOST = 400_000;

export function ArtifactsTab({ live }: { live: LiveRun }) {
  const place = usePlace();
  const made = [...live.fold.artifacts.values()].reverse();
  const chosen = place.query.get("file") ?? REPORT;
  const found = made.find((one) => one.id === chosen);
  const pick = (id: string): void => go(withQuery(place, { tab: "artifacts", file: id }), true);
  return (
    <div className="files">
      <Card title="Files" flush>
        <ul className="picks">
          <li>
            <button className="pick" aria-pressed={!found} onClick={() => pick(REPORT)}>
              <Icon name="file" />
              <span className="grow cut">Report of this run</span>
            </button>
          </li>
          {made.map((one) => (
            <li key={one.path}>
              <button className="pick" aria-pressed={found?.path === one.path} onClick={() => pick(one.id)}>
                <Icon name="file" />
                <span className="grow">
                  <span className="cut block">{one.name}</span>
                  <span className="quiet small cut block">
                    {one.path.replace(/\/?artifact\[.*\]$/, "") || "the run itself"}
                  </span>
                </span>
                <span className="num quiet">{size(one.bytes)}</span>
              </button>
            </li>
          ))}
        </ul>
      </Card>
      {found ? (
        <Shown id={live.id} made={found} key={found.id} />
      ) : (
        <Card
          title="Report"
          flush
          aside={
            <span className="row">
              <a className="button" href={files.report(live.id)} target="_blank" rel="noreferrer">
                Open
              </a>
              <a className="button" href={files.reportAs(live.id, "md")} download={`${live.id}.md`}>
                <Icon name="down" />
                Markdown
              </a>
            </span>
          }
        >
          <iframe
            className="report"
            title="Report"
            sandbox=""
            src={`${files.report(live.id)}&seq=${live.fold.over ? live.fold.lastSeq : 0}`}
          />
        </Card>
      )}
    </div>
  );
}

function Shown({ id, made }: { id: string; made: Artifact }) {
  return (
    <Card
      title={made.name}
      flush
      aside={
        <a className="button" href={files.artifact(id, made.id)} download={made.name}>
          <Icon name="down" />
          Save
        </a>
      }
    >
      <Inside id={id} made={made} />
    </Card>
  );
}

/** Pages come in a frame that may do nothing, text as text; everything else can only be saved. */
function Inside({ id, made }: { id: string; made: Artifact }) {
  if (TEXT.test(made.media)) return <Text id={id} made={made} />;
  if (made.media.startsWith("text/html") || made.media.startsWith("application/pdf")) {
    return <iframe className="report" title={made.name} sandbox="" src={files.shown(id, made.id)} />;
  }
  if (/^image\/(png|jpeg|gif|webp)/.test(made.media))
    return <img className="picture" src={files.shown(id, made.id)} alt={made.name} />;
  return <Empty title="This kind of file is not shown here.">Save it to look at it.</Empty>;
}

function Text({ id, made }: { id: string; made: Artifact }) {
  const { value, problem } = useLoaded(`${id}/${made.id}`, (signal) => api.artifactText(id, made.id, signal));
  if (problem)
    return (
      <div className="body">
        <ProblemNote problem={problem} />
      </div>
    );
  if (value === null) return <Bones />;
  return (
    <pre className="document" tabIndex={0}>
      {value.length > MOST ? `${value.slice(0, MOST)}\n… save the file to read the rest` : value}
    </pre>
  );
}
