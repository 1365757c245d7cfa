/** The icons of the console, drawn as lines in the colour of the text. */
const paths = {
  overview: "M3 13h7V3H3zM14 21h7V11h-7zM14 7h7V3h-7zM3 21h7v-4H3z",
  sandboxes: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  pools:
    "M3 7c0-2 4-3.500 9-3.500s9 1.500 9 3.500-4 3.500-9 3.500S3 9 3 7zM3 7v10c0 2 4 3.500 9 3.500s9-1.500 9-3.500V7M3 12c0 2 4 3.500 9 3.500s9-1.500 9-3.500",
  templates: "M6 3h9l4 4v14H6zM14 3v5h5M9 13h6M9 17h6",
  builds: "M14 4l6 6-3 3-6-6zM12 9l-8 8v3h3l8-8M4 7h5M6.500 4.500v5",
  checkpoints: "M4 7h4l2-3h4l2 3h4v12H4zM12 10a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  volumes: "M5 4h14v16H5zM8 8h8M8 12h8M15 16h.01",
  webhooks: "M9 7a3 3 0 1 1 5 2l3 5M6 20a3 3 0 1 1 .500-6H12M18 20a3 3 0 1 0-2.500-4.500L12 9",
  playground: "M6 4l14 8-14 8z",
  history: "M4 5v5h5M4.500 14a8 8 0 1 0 1-7L4 10M12 8v4l3 2",
  keys: "M15 9a4 4 0 1 0-4.500 4L4 19.500V22h3v-2h2v-2h2l2.500-4.500A4 4 0 0 0 15 9zM16 8h.01",
  limits: "M4 19a9 9 0 1 1 16 0M12 14l4-5M12 15h.01",
  health: "M3 12h4l3-8 4 16 3-8h4",
  usage: "M4 20V4M4 20h16M8 16v-5M12 16V8M16 16v-8M20 16v-3",
  audit: "M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6",
  menu: "M4 6h16M4 12h16M4 18h16",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5",
  moon: "M20 14A8 8 0 1 1 10 4a6.500 6.500 0 0 0 10 10z",
  out: "M14 4h5v16h-5M4 12h11M11 8l4 4-4 4",
  folder: "M3 6h7l2 2h9v11H3z",
  file: "M6 3h8l4 4v14H6zM14 3v5h4",
  up: "M12 19V6M6 11l6-6 6 6",
  help: "M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.200-1.500 2.400M12 18h.01M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20z",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      viewBox="0 0 24 24"
      width="18"
      height="18"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}

export function BrandMark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="currentColor" />
      <path
        d="M16 6l9 5v10l-9 5-9-5V11zM7 11l9 5 9-5M16 16v10"
        fill="none"
        stroke="var(--surface)"
        stroke-width="2.4"
        stroke-linejoin="round"
      />
    </svg>
  );
}
