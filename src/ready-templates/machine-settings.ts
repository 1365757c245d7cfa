/** What of this machine's settings the making of a template needs: proxies, package indexes, and the certificates by which those are known. */
import { readFile } from "node:fs/promises";
import { sourceDateEpoch } from "./layer-script.ts";

const certificatesFile = "/etc/ssl/certs/ca-certificates.crt";
/** Inside. */
const certificates = "/run/certificates.pem";

const passed = /^(https?_proxy|no_proxy|all_proxy|pip_index_url|pip_extra_index_url|pip_trusted_host|npm_config_registry)$/i;

export function findCertificates(): Promise<Buffer | undefined> {
  return readFile(certificatesFile).catch(() => undefined);
}

/** Variables of the script. */
export function scriptVariables(env: Readonly<Record<string, string | undefined>>, hasCertificates: boolean): Record<string, string> {
  const settings = Object.entries(env).filter((entry): entry is [string, string] => passed.test(entry[0]) && entry[1] !== undefined);
  const trust = ["SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];
  return {
    ...Object.fromEntries(settings),
    ...(hasCertificates && Object.fromEntries(trust.map((name) => [name, certificates]))),
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOME: "/run",
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    DEBIAN_FRONTEND: "noninteractive",
    SOURCE_DATE_EPOCH: String(sourceDateEpoch),
    PIP_ROOT_USER_ACTION: "ignore",
    PIP_BREAK_SYSTEM_PACKAGES: "1",
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    PIP_NO_CACHE_DIR: "1",
    PIP_PROGRESS_BAR: "off",
    NPM_CONFIG_CACHE: "/run/npm",
    NPM_CONFIG_UPDATE_NOTIFIER: "false",
    NPM_CONFIG_FUND: "false",
    NPM_CONFIG_AUDIT: "false",
    PYTHONHASHSEED: "0",
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: "1",
  };
}
