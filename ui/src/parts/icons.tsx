import type { ReactNode } from "react";

/** Line icons of one weight, 16 pixels; drawn here, so that nothing is fetched. */
const shapes: Record<string, ReactNode> = {
  running: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M6.7 5.5 10.5 8l-3.8 2.5z" fill="currentColor" />
    </>
  ),
  completed: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="m5.4 8.2 1.8 1.8 3.5-3.8" />
    </>
  ),
  failed: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="m6 6 4 4m0-4-4 4" />
    </>
  ),
  waiting: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M6.3 6.3a1.7 1.7 0 1 1 2.4 1.6c-.5.2-.7.5-.7 1m0 2v.1" />
    </>
  ),
  partial: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" />
    </>
  ),
  paused: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M6.6 6v4M9.4 6v4" />
    </>
  ),
  queued: (
    <>
      <circle cx="8" cy="8" r="6" strokeDasharray="2.4 2.3" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M4 12 12 4" />
    </>
  ),
  interrupted: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M4 12 12 4" />
    </>
  ),
  stale: (
    <>
      <path d="M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3" />
    </>
  ),
  runs: (
    <>
      <path d="M2.5 4h11M2.5 8h11M2.5 12h7" />
    </>
  ),
  plus: <path d="M8 3v10M3 8h10" />,
  models: (
    <>
      <rect x="4" y="4" width="8" height="8" rx="1.5" />
      <path d="M6 1.5V4m4-2.5V4m-4 8v2.5m4-2.5v2.5M1.5 6H4m-2.5 4H4m8-4h2.5M12 10h2.5" />
    </>
  ),
  team: (
    <>
      <circle cx="6" cy="5.5" r="2.3" />
      <path d="M1.8 13c.3-2.6 2-4 4.2-4s3.900 1.400 4.200 4M10.300 3.500a2.200 2.200 0 0 1 0 4M11.700 9.300c1.500.5 2.400 1.800 2.600 3.700" />
    </>
  ),
  brain: (
    <>
      <path d="M8 13.500V2.500M8 4a2 2 0 0 0-3.800.8A2.300 2.300 0 0 0 3 8.700a2.300 2.300 0 0 0 2 3.500A1.800 1.800 0 0 0 8 12M8 4a2 2 0 0 1 3.800.8A2.300 2.300 0 0 1 13 8.700a2.300 2.300 0 0 1-2 3.500A1.800 1.800 0 0 1 8 12" />
    </>
  ),
  compare: <path d="M5.500 2.500v11M10.500 2.500v11M2 5l3.500-2.500L2 5zm0 0h3.500M14 11h-3.500" />,
  settings: (
    <>
      <path d="M2.5 4.5h6m3 0h2M2.5 8h2m3 0h6M2.5 11.500h6m3 0h2" />
      <circle cx="10" cy="4.500" r="1.500" />
      <circle cx="6" cy="8" r="1.500" />
      <circle cx="10" cy="11.500" r="1.500" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.300" />
      <path d="m10.300 10.300 3.200 3.200" />
    </>
  ),
  theme: (
    <>
      <circle cx="8" cy="8" r="5.500" />
      <path d="M8 2.500a5.500 5.500 0 0 1 0 11z" fill="currentColor" />
    </>
  ),
  help: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M6.300 6.300a1.700 1.700 0 1 1 2.400 1.600c-.5.2-.7.5-.7 1m0 2v.1" />
    </>
  ),
  warn: (
    <>
      <path d="M8 2.500 14 13H2z" />
      <path d="M8 6.500v3m0 1.700v.1" />
    </>
  ),
  fork: (
    <>
      <circle cx="4" cy="3.500" r="1.500" />
      <circle cx="12" cy="3.500" r="1.500" />
      <circle cx="8" cy="12.500" r="1.500" />
      <path d="M4 5v1.500c0 1.500 1.500 2 4 2s4-.5 4-2V5M8 8.500V11" />
    </>
  ),
  file: (
    <>
      <path d="M4 1.800h5l3 3v9.400H4z" />
      <path d="M9 1.800v3h3" />
    </>
  ),
  down: <path d="M8 2.500v8m-3.500-3L8 11l3.500-3.500M3 13.500h10" />,
  open: <path d="m6 3.500 4.500 4.500L6 12.500" />,
  close: <path d="m4 4 8 8m0-8-8 8" />,
  tree: (
    <>
      <rect x="6" y="1.800" width="4" height="3.400" rx="1" />
      <rect x="1.800" y="10.800" width="4" height="3.400" rx="1" />
      <rect x="10.200" y="10.800" width="4" height="3.400" rx="1" />
      <path d="M8 5.200V8M3.800 10.800V8h8.400v2.800" />
    </>
  ),
  studio: (
    <>
      <path d="M2 5.800h12v7.700H2z" />
      <path d="m2 5.800 1-3 11 .2v2.800M5.500 2.800 5 5.800m4.700-2.800L9 5.800" />
    </>
  ),
  council: (
    <>
      <path d="M2.500 3h8v5.500H6L3.800 10.500v-2H2.500z" />
      <path d="M12.500 6h1.200v5.500h-1.400v1.800L10 11.500H7.500v-1" />
    </>
  ),
  chat: <path d="M2.500 3h11v7.500H8L5 13v-2.500H2.500zM5.300 6h5.400M5.300 8h3" />,
  research: (
    <>
      <path d="M3 2.500h6.500v4M3 2.500v11h4" />
      <circle cx="10" cy="10" r="2.600" />
      <path d="m12 12 2 2M5 5.500h2.500M5 8h1.500" />
    </>
  ),
  build: <path d="M5.500 4.500 2 8l3.500 3.500M10.500 4.500 14 8l-3.500 3.500M9 3 7 13" />,
  workflow: (
    <>
      <circle cx="3.500" cy="8" r="1.700" />
      <circle cx="12.500" cy="4" r="1.700" />
      <circle cx="12.500" cy="12" r="1.700" />
      <path d="m5 7.300 6-2.600M5 8.700l6 2.600" />
    </>
  ),
};

/** An icon by name; one that does not exist is the general glyph of a workflow. */
export function Icon({ name, label }: { name: string; label?: string }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}
    >
      {Object.hasOwn(shapes, name) ? shapes[name] : shapes.workflow}
    </svg>
  );
}
