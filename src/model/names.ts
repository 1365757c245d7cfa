/**
 * The syntax of names, keys and values in Kubernetes. Each check returns what is wrong, in the server's words; nothing
 * when all is well. A regular expression in a message is given because a user can try it out.
 */
const fine: readonly string[] = [];

const label1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const keyName = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValueForm = `(${keyName})?`;
const configKeyForm = "[-._a-zA-Z0-9]+";
const headerForm = "[-A-Za-z0-9]+";

const isLabel1123 = new RegExp(`^${label1123}$`);
const isSubdomain1123 = new RegExp(`^${subdomain1123}$`);
const isKeyName = new RegExp(`^${keyName}$`);
const isLabelValue = new RegExp(`^${labelValueForm}$`);
const isConfigKey = new RegExp(`^${configKeyForm}$`);
const isHeader = new RegExp(`^${headerForm}$`);

/** Object names of most kinds. */
export function dnsSubdomainMistakes(text: string): readonly string[] {
  if (text.length <= 253 && isSubdomain1123.test(text)) return fine;
  return [
    ...tooLong(text, 253, "characters"),
    ...unless(
      isSubdomain1123.test(text),
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
      { form: subdomain1123, examples: ["example.com"] },
    ),
  ];
}

const searchLabel = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const searchDomain = `${searchLabel}(\\.${searchLabel})*`;
const isSearchDomain = new RegExp(`^${searchDomain}$`);

/** Domains in which names are looked up; services have underscores in theirs. */
export function searchDomainMistakes(text: string): readonly string[] {
  return [
    ...tooLong(text, 253, "characters"),
    ...unless(
      isSearchDomain.test(text),
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
      { form: searchDomain, examples: ["example.com"] },
    ),
  ];
}

/** Names of namespaces, containers and volumes. */
export function dnsLabelMistakes(text: string): readonly string[] {
  if (text.length <= 63 && isLabel1123.test(text)) return fine;
  if (isSubdomain1123.test(text) && text.includes(".")) return [...tooLong(text, 63, "characters"), "must not contain dots"];
  return [
    ...tooLong(text, 63, "characters"),
    ...unless(
      isLabel1123.test(text),
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
      { form: label1123, examples: ["my-name", "123-abc"] },
    ),
  ];
}

/** Names that only have to fit into a URL path. */
export function pathSegmentMistakes(text: string): readonly string[] {
  if (text === "." || text === "..") return [`may not be '${text}'`];
  return ["/", "%"].filter((part) => text.includes(part)).map((part) => `may not contain '${part}'`);
}

/** A name before random letters are put behind it: a dash at its end is fine. */
export function prefixMistakes(check: (text: string) => readonly string[], prefix: string): readonly string[] {
  return check(prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix);
}

const keyExamples = { form: keyName, examples: ["MyName", "my.name", "123-abc"] };
const keyCharacters = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/** Label keys, annotation keys and finalizers: a name, with an optional domain before a slash. */
export function qualifiedNameMistakes(text: string): readonly string[] {
  const parts = text.split("/");
  if (parts.length > 2) {
    return [
      `${explained(`a valid label key ${keyCharacters}`, keyExamples)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts.at(-1) ?? "";
  const domain = parts.length === 2 ? parts[0] : undefined;
  if (name.length <= 63 && isKeyName.test(name) && domain === undefined) return fine;
  return [...domainMistakes(domain), ...keyNameMistakes(name)];
}

function domainMistakes(domain: string | undefined): readonly string[] {
  if (domain === undefined) return fine;
  if (domain === "") return ["prefix part must be non-empty"];
  return dnsSubdomainMistakes(domain).map((mistake) => `prefix part ${mistake.replace(/characters$/, "bytes")}`);
}

function keyNameMistakes(name: string): readonly string[] {
  return [
    ...(name === "" ? ["name part must be non-empty"] : []),
    ...tooLong(name, 63, "bytes").map((mistake) => `name part ${mistake}`),
    ...unless(isKeyName.test(name), `name part ${keyCharacters}`, keyExamples),
  ];
}

export function labelValueMistakes(text: string): readonly string[] {
  if (text.length <= 63 && isLabelValue.test(text)) return fine;
  return [
    ...tooLong(text, 63, "bytes"),
    ...unless(isLabelValue.test(text), `a valid label must be an empty string or ${keyCharacters.replace("must consist", "consist")}`, {
      form: labelValueForm,
      examples: ["MyValue", "my_value", "12345"],
    }),
  ];
}

/** Keys of secrets and config maps, which become file names. */
export function configKeyMistakes(text: string): readonly string[] {
  return [
    ...tooLong(text, 253, "characters"),
    ...unless(isConfigKey.test(text), "a valid config key must consist of alphanumeric characters, '-', '_' or '.'", {
      form: configKeyForm,
      examples: ["key.name", "KEY_NAME", "key-name"],
    }),
    ...parentFolderMistakes(text),
  ];
}

function parentFolderMistakes(text: string): readonly string[] {
  if (text === "." || text === "..") return [`must not be '${text}'`];
  return text.startsWith("..") ? ["must not start with '..'"] : fine;
}

export function environmentNameMistakes(text: string): readonly string[] {
  if (text === "") return ["environment variable name must be non-empty"];
  return /^[\u0020-\u003c\u003e-\u007e]*$/.test(text)
    ? fine
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

export function portNameMistakes(text: string): readonly string[] {
  return [
    ...tooLong(text, 15, "characters"),
    ...(/^[-a-z0-9]+$/.test(text) ? fine : ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
    ...(/[a-z]/.test(text) ? fine : ["must contain at least one letter (a-z)"]),
    ...(text.includes("--") ? ["must not contain consecutive hyphens"] : fine),
    ...(/^-|-$/.test(text) ? ["must not begin or end with a hyphen"] : fine),
  ];
}

export function httpHeaderMistakes(text: string): readonly string[] {
  return unless(isHeader.test(text), "a valid HTTP header must consist of alphanumeric characters or '-'", {
    form: headerForm,
    examples: ["X-Header-Name"],
  });
}

/** Whole numbers within bounds that are allowed themselves. */
export function rangeMistakes(value: number, low: number, high: number): readonly string[] {
  return value >= low && value <= high ? fine : [`must be between ${low} and ${high}, inclusive`];
}

export function portNumberMistakes(port: number): readonly string[] {
  return rangeMistakes(port, 1, 65_535);
}

interface Explanation {
  readonly form: string;
  readonly examples: readonly string[];
}

function unless(fits: boolean, mistake: string, explanation: Explanation): readonly string[] {
  return fits ? fine : [explained(mistake, explanation)];
}

function explained(mistake: string, { form, examples }: Explanation): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${mistake} (e.g. ${shown}regex used for validation is '${form}')`;
}

function tooLong(text: string, max: number, unit: "characters" | "bytes"): readonly string[] {
  return text.length > max ? [`must be no more than ${max} ${unit}`] : fine;
}
