import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build as esbuild } from "esbuild";
import { build as vite } from "vite";
import webpack from "webpack";

export const bundlers = ["esbuild", "vite", "webpack"] as const;
export type Bundler = (typeof bundlers)[number];

export interface Bundle {
  readonly text: string;
  readonly warnings: readonly string[];
  readonly bytes: number;
  readonly gzipBytes: number;
}

const packageFolder = new URL("../..", import.meta.url).pathname;

/** A project that has the package installed as published, and a page that imports it. */
export class BrowserProject implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(page: string): Promise<BrowserProject> {
    const folder = await mkdtemp(join(tmpdir(), "iggy-bundle-"));
    const installed = join(folder, "node_modules/@iggy/sdk");
    await mkdir(installed, { recursive: true });
    await cp(join(packageFolder, "package.json"), join(installed, "package.json"));
    await esbuild({
      entryPoints: { browser: join(packageFolder, "src/browser.ts"), index: join(packageFolder, "src/index.ts") },
      outdir: join(installed, "dist"),
      bundle: true,
      splitting: true,
      format: "esm",
      target: "es2022",
      conditions: ["@iggy/source"],
      external: ["node:*"],
      logLevel: "silent",
    });
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
    await writeFile(join(folder, "page.js"), page);
    await writeFile(join(folder, "index.html"), `<!doctype html><script type="module" src="/page.js"></script>`);
    return new BrowserProject(folder);
  }

  /** What a bundler makes of the page without any configuration of its own. */
  async bundle(bundler: Bundler): Promise<Bundle> {
    const output = join(this.#folder, `out-${bundler}`);
    const warnings = await this.#run(bundler, output);
    const text = await readFile(join(output, "page.js"), "utf8");
    return { text, warnings, bytes: Buffer.byteLength(text), gzipBytes: gzipSync(text, { level: 9 }).length };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }

  async #run(bundler: Bundler, output: string): Promise<string[]> {
    const entry = join(this.#folder, "page.js");
    switch (bundler) {
      case "esbuild": {
        const { warnings } = await esbuild({
          entryPoints: [entry],
          outdir: output,
          bundle: true,
          minify: true,
          format: "esm",
          platform: "browser",
          logLevel: "silent",
        });
        return warnings.map(({ text }) => text);
      }
      case "vite": {
        const warnings: string[] = [];
        await vite({
          root: this.#folder,
          configFile: false,
          logLevel: "silent",
          build: {
            outDir: output,
            modulePreload: false,
            rolldownOptions: {
              input: entry,
              output: { entryFileNames: "page.js" },
              onLog: (level, { message }) => {
                if (level === "warn") warnings.push(message);
              },
            },
          },
        });
        return warnings;
      }
      case "webpack":
        return runWebpack(this.#folder, entry, output);
    }
  }
}

function runWebpack(context: string, entry: string, path: string): Promise<string[]> {
  const compiler = webpack({
    context,
    entry,
    mode: "production",
    // The limits of its advice are for whole pages.
    performance: false,
    output: { path, filename: "page.js", module: true },
    experiments: { outputModule: true },
  });
  return new Promise((resolve, reject) => {
    compiler.run((failure, stats) => {
      compiler.close(() => undefined);
      const { errors = [], warnings = [] } = stats?.toJson({ all: false, errors: true, warnings: true }) ?? {};
      if (failure !== null) reject(failure);
      else if (errors.length > 0) reject(new Error(errors.map(({ message }) => message).join("\n")));
      else resolve(warnings.map(({ message }) => message));
    });
  });
}
