/** What is run to make a layer, inside of it. Pure. */
import type { LayerRecipe } from "./recipes.ts";

/** Every file that is newer gets this time, which is also told to programs that write times into files. Saturday, 9 August 2025: Debian 13. */
export const sourceDateEpoch = 1_754_697_600;
/** npm takes no newer package than of this day for what the packages that we name need. */
const npmBefore = "2026-11-19";

const left = ["man", "info", "locale", "lintian", "doc"];
const aptOptions = [
  "Dir::Etc::SourceList=/run/sources.list",
  "Dir::Etc::SourceParts=/dev/null",
  "APT::Sandbox::User=root",
  "Acquire::Retries=3",
  "Acquire::Languages=none",
  "APT::Install-Recommends=false",
  "Dpkg::Options::=--force-unsafe-io",
  "Dpkg::Options::=--force-confold",
  ...left.map((name) => `Dpkg::Options::=--path-exclude=/usr/share/${name}/*`),
  "Dpkg::Options::=--path-include=/usr/share/doc/*/copyright",
];

/** Lines that begin with this name what is done next. */
export const stageMark = "::agentbox ";

/** `sources`: where apt gets packages from while the layer is made, as lines of a sources.list. */
export function layerScript({ debian, python, npm, finish }: LayerRecipe, sources: readonly string[]): string {
  const apt = `apt-get ${aptOptions.map((option) => `-o ${word(option)}`).join(" ")} -y`;
  return [
    // Services of packages are not to start while they are installed.
    String.raw`printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d`,
    ...(debian.length === 0
      ? []
      : [
          `printf '%s\\n' ${sources.map((line) => word(line)).join(" ")} > /run/sources.list`,
          stage("lists of Debian packages"),
          `${apt} update`,
          stage("Debian packages"),
          `${apt} upgrade`,
          `${apt} install ${debian.map((name) => word(name)).join(" ")}`,
        ]),
    ...(python.length === 0
      ? []
      : [
          stage("Python packages"),
          // All of them are named with their versions: nothing is resolved. Debian's own of the same name stay, behind ours.
          `pip install --no-deps --ignore-installed --only-binary :all: ${python.map((name) => word(name)).join(" ")}`,
          "pip check",
        ]),
    ...(npm.length === 0
      ? []
      : [stage("npm packages"), `npm install --global --before ${npmBefore} ${npm.map((name) => word(name)).join(" ")}`]),
    ...(finish.length === 0 ? [] : [stage("settings"), ...finish]),
    "rm /usr/sbin/policy-rc.d",
    "",
  ].join("\n");
}

function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function stage(text: string): string {
  return `echo ${word(`${stageMark}${text}`)}`;
}
